"""What the tree of a program says about it, found in one walk before anything runs."""

import ast
from typing import Any

# The names under which a program finds tools; `mcp_<alias>` are more.
TOOL_ROOTS = frozenset(
    "tools call_tool acall_tool call_mcp_tool runtime mcp_servers mcp search describe servers store "
    "discover_mcp_tools get_tool_schema search_tools".split()
)

_CONTEXTS = (ast.Load, ast.Store, ast.Del)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ASYNC = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
_ENTRY_NAMES = ("main", "run")
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
_MAKERS = frozenset("dict list set defaultdict Counter OrderedDict deque".split())
# Methods that give an object members, or take them.
_CHANGERS = frozenset("update setdefault pop popitem clear append extend insert".split())


class Facts:
    """The result of the walk."""

    def __init__(self) -> None:
        # Whether anything in it waits asynchronously.
        self.is_async = False
        # Statements and expressions outside of every function.
        self.returns = False
        self.awaits = False
        # Names it gives values to, and how often, and names it reads, in any scope.
        self.bound: dict[str, int] = {}
        self.loaded: set[str] = set()
        # Calls of what may be a tool, with the root of the called expression.
        self.calls: list[tuple[str, ast.Call]] = []
        # `from mcp.servers.alias import name as here`.
        self.imports: list[ast.ImportFrom] = []
        # Statements that may catch what their bodies raise, and calls that may collect it.
        self.guards: list[ast.stmt] = []
        self.gathers: list[ast.Call] = []
        # Functions with a name.
        self.functions: dict[str, list[Any]] = {}
        # Names of objects that are given members, or lose them; None for an object without a name.
        self.changed: set[str | None] = set()
        # How often a name is given a collection that the program makes.
        self.made: dict[str, int] = {}
        # Names that are given a chain of names, as in `s = tools.server`, and calls of what begins with any name.
        self.chains: dict[str, ast.expr] = {}
        self.other_calls: dict[str, list[ast.Call]] = {}
        # The node around each node, by id.
        self.parents: dict[int, ast.AST] = {}

    def bind(self, name: str) -> None:
        """Notes that a name is given a value."""
        self.bound[name] = self.bound.get(name, 0) + 1

    def times_bound(self, name: str) -> int:
        """How often it is."""
        return self.bound.get(name, 0)

    @property
    def changes_members(self) -> bool:
        """Whether an object that may be a result is given a member, or loses one.

        What a name has that is only ever given collections which the program makes is no result.
        """
        return any(name is None or self.made.get(name, 0) < self.times_bound(name) for name in self.changed)


def root_of(node: ast.expr) -> str | None:
    """The name that an expression of attributes, subscripts and calls begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def last_name(node: ast.expr) -> str | None:
    """`c` of `a.b.c`, and `a` of `a`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def gather(tree: ast.Module) -> Facts:
    """Walks the tree once."""
    facts = Facts()
    parents = facts.parents
    imported = _imported_from_servers(tree)
    stack: list[tuple[Any, bool]] = [(statement, False) for statement in tree.body]
    while stack:
        node, inside = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is ast.Load:
                facts.loaded.add(node.id)
            else:
                facts.bind(node.id)
            continue
        if kind is ast.Constant:
            continue
        if kind is ast.Call:
            root = root_of(node.func)
            if root is not None and (root in TOOL_ROOTS or root.startswith("mcp_") or root in imported):
                facts.calls.append((root, node))
            elif root is not None:
                facts.other_calls.setdefault(root, []).append(node)
            if type(node.func) is ast.Attribute and node.func.attr in _CHANGERS:
                facts.changed.add(_name(node.func.value))
            elif root == "setattr":
                facts.changed.add(None)
            if node.keywords and any(word.arg == "return_exceptions" for word in node.keywords):
                facts.gathers.append(node)
        else:
            visit = _VISITS.get(kind)
            if visit is not None:
                visit(facts, node, inside)
        inside = inside or kind in _FUNCTIONS
        for value in node.__dict__.values():
            if type(value) is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        parents[id(item)] = node
                        stack.append((item, inside))
            elif isinstance(value, ast.AST) and not isinstance(value, _CONTEXTS):
                parents[id(value)] = node
                stack.append((value, inside))
    return facts


def _name(node: ast.expr) -> str | None:
    return node.id if type(node) is ast.Name else None


def _imported_from_servers(tree: ast.Module) -> set[str]:
    """Names that the top level imports from `mcp.servers.<alias>`."""
    return {
        alias.asname or alias.name
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("mcp.servers.")
        for alias in statement.names
    }


def _visit_return(facts: Facts, node: Any, inside: bool) -> None:
    facts.returns = facts.returns or not inside


def _visit_async(facts: Facts, node: Any, inside: bool) -> None:
    facts.is_async = True
    if type(node) is ast.AsyncFunctionDef:
        _visit_function(facts, node, inside)
    elif not inside:
        facts.awaits = True


def _visit_comprehension(facts: Facts, node: Any, inside: bool) -> None:
    if node.is_async:
        _visit_async(facts, node, inside)


def _visit_definition(facts: Facts, node: Any, inside: bool) -> None:
    facts.bind(node.name)


def _visit_function(facts: Facts, node: Any, inside: bool) -> None:
    facts.bind(node.name)
    facts.functions.setdefault(node.name, []).append(node)


def _visit_member(facts: Facts, node: Any, inside: bool) -> None:
    if type(node.ctx) is not ast.Load:
        facts.changed.add(_name(node.value))


def _visit_assignment(facts: Facts, node: Any, inside: bool) -> None:
    targets = node.targets if type(node) is ast.Assign else [node.target]
    name, value = _name(targets[0]), node.value
    if len(targets) > 1 or name is None:
        return
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        facts.chains[name] = value
    elif isinstance(value, _DISPLAYS) or isinstance(value, ast.Call) and last_name(value.func) in _MAKERS:
        facts.made[name] = facts.made.get(name, 0) + 1


def _visit_argument(facts: Facts, node: Any, inside: bool) -> None:
    facts.bind(node.arg)


def _visit_named(facts: Facts, node: Any, inside: bool) -> None:
    if node.name:
        facts.bind(node.name)


def _visit_import(facts: Facts, node: Any, inside: bool) -> None:
    for alias in node.names:
        facts.bind(alias.asname or alias.name.partition(".")[0])
        facts.is_async = facts.is_async or alias.name.partition(".")[0] == "asyncio"


def _visit_import_from(facts: Facts, node: Any, inside: bool) -> None:
    module = node.module or ""
    facts.is_async = facts.is_async or module.partition(".")[0] == "asyncio"
    if module == "mcp" or module.startswith("mcp."):
        facts.imports.append(node)
    for alias in node.names:
        facts.bind(alias.asname or alias.name)


def _visit_guard(facts: Facts, node: Any, inside: bool) -> None:
    facts.guards.append(node)


def _visit_rest(facts: Facts, node: Any, inside: bool) -> None:
    if node.rest:
        facts.bind(node.rest)


_VISITS = {
    ast.Assign: _visit_assignment,
    ast.AnnAssign: _visit_assignment,
    ast.Return: _visit_return,
    **dict.fromkeys(_ASYNC, _visit_async),
    ast.comprehension: _visit_comprehension,
    ast.FunctionDef: _visit_function,
    ast.Attribute: _visit_member,
    ast.Subscript: _visit_member,
    ast.ClassDef: _visit_definition,
    ast.arg: _visit_argument,
    ast.ExceptHandler: _visit_named,
    ast.MatchAs: _visit_named,
    ast.MatchStar: _visit_named,
    ast.MatchMapping: _visit_rest,
    ast.Try: _visit_guard,
    ast.TryStar: _visit_guard,
    ast.With: _visit_guard,
    ast.Import: _visit_import,
    ast.ImportFrom: _visit_import_from,
}


def uncalled_entry(tree: ast.Module, facts: Facts) -> Any:
    """The function `main` or `run` that the program defines and never mentions, or None."""
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name in _ENTRY_NAMES:
            return statement if statement.name not in facts.loaded else None
    return None
