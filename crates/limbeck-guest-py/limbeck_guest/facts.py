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


class Facts:
    """The result of the walk."""

    def __init__(self) -> None:
        # Whether anything in it waits asynchronously.
        self.is_async = False
        # Statements and expressions outside of every function.
        self.returns = False
        self.awaits = False
        # Names it gives values to, and names it reads, in any scope.
        self.bound: set[str] = set()
        self.loaded: set[str] = set()


def root_of(node: ast.expr) -> str | None:
    """The name that an expression of attributes, subscripts and calls begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def gather(tree: ast.Module) -> Facts:
    """Walks the tree once."""
    facts = Facts()
    stack: list[tuple[Any, bool]] = [(statement, False) for statement in tree.body]
    while stack:
        node, inside = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            (facts.loaded if type(node.ctx) is ast.Load else facts.bound).add(node.id)
            continue
        if kind is ast.Constant:
            continue
        visit = _VISITS.get(kind)
        if visit is not None:
            visit(facts, node, inside)
        inside = inside or kind in _FUNCTIONS
        for value in node.__dict__.values():
            if type(value) is list:
                stack += [(item, inside) for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, _CONTEXTS):
                stack.append((value, inside))
    return facts


def _visit_return(facts: Facts, node: Any, inside: bool) -> None:
    facts.returns = facts.returns or not inside


def _visit_async(facts: Facts, node: Any, inside: bool) -> None:
    facts.is_async = True
    if type(node) is ast.AsyncFunctionDef:
        facts.bound.add(node.name)
    elif not inside:
        facts.awaits = True


def _visit_comprehension(facts: Facts, node: Any, inside: bool) -> None:
    if node.is_async:
        _visit_async(facts, node, inside)


def _visit_argument(facts: Facts, node: Any, inside: bool) -> None:
    facts.bound.add(node.arg)


def _visit_named(facts: Facts, node: Any, inside: bool) -> None:
    if node.name:
        facts.bound.add(node.name)


def _visit_import(facts: Facts, node: Any, inside: bool) -> None:
    for alias in node.names:
        facts.bound.add(alias.asname or alias.name.partition(".")[0])
        facts.is_async = facts.is_async or alias.name.partition(".")[0] == "asyncio"


def _visit_import_from(facts: Facts, node: Any, inside: bool) -> None:
    facts.is_async = facts.is_async or (node.module or "").partition(".")[0] == "asyncio"
    facts.bound.update(alias.asname or alias.name for alias in node.names)


def _visit_rest(facts: Facts, node: Any, inside: bool) -> None:
    if node.rest:
        facts.bound.add(node.rest)


_VISITS = {
    ast.Return: _visit_return,
    **dict.fromkeys(_ASYNC, _visit_async),
    ast.comprehension: _visit_comprehension,
    ast.FunctionDef: _visit_named,
    ast.ClassDef: _visit_named,
    ast.arg: _visit_argument,
    ast.ExceptHandler: _visit_named,
    ast.MatchAs: _visit_named,
    ast.MatchStar: _visit_named,
    ast.MatchMapping: _visit_rest,
    ast.Import: _visit_import,
    ast.ImportFrom: _visit_import_from,
}


def uncalled_entry(tree: ast.Module, facts: Facts) -> Any:
    """The function `main` or `run` that the program defines and never mentions, or None."""
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name in _ENTRY_NAMES:
            return statement if statement.name not in facts.loaded else None
    return None
