"""Calls of tools that are not awaited, in programs that wait asynchronously.

There a call is something to await. But models write `page = tools.shop.list_orders()` at module level and
in plain functions, and mean the answer; so in places where Python code means an answer, `settle(...)` is put
around the call. Inside of coroutine functions a missing `await` is a mistake, which is reported before the
program runs (`unawaited.rs` of the worker, by the same rules). What is not recognised here still works: a call
is used as its answer by itself (`lazy`).

The same is done for calls of the program's own coroutine functions. Those that are not recognised do not run, as
everywhere; then there is a warning.
"""

import ast
import inspect
from itertools import islice
from types import CoroutineType
from typing import Any

from . import host
from .facts import TOOL_ROOTS, root_of
from .nodes import walk
from .rewrite import COMPREHENSIONS, at, call_of

SETTLE_NAME = "<settle>"
# The same as a coroutine, and the items of an async generator one by one.
SETTLED_NAME = "<settled>"
ITEMS_NAME = "<items>"
# Of a collection, for coroutines that did not run.
_ITEMS_LOOKED_AT = 100

# Functions that use the value of an argument, so that a call there is meant as its answer.
_USERS = frozenset(
    "print len str int float bool repr list dict set tuple sorted sum min max any all enumerate isinstance type "
    "round abs reversed iter next vars dir hash format bytes frozenset divmod pow ord chr getattr hasattr".split()
)
# Of these, those that read the items of their argument.
_READERS = frozenset("list dict set tuple sorted sum min max any all enumerate frozenset".split())
# Modules whose functions take things to await.
_AWAITERS = frozenset("asyncio concurrent functools itertools contextlib mcp contextvars inspect".split())
# Methods and functions that keep or await what they are given.
_KEEPERS = frozenset(
    "gather wait wait_for create_task ensure_future as_completed shield run run_until_complete append add extend "
    "insert put put_nowait setdefault to_thread start_soon submit appendleft push enter_async_context".split()
)
_VALUE_FIELDS = frozenset(
    (kind, field)
    for kind, fields in {
        ast.Attribute: "value", ast.Subscript: "value slice", ast.BinOp: "left right", ast.UnaryOp: "operand",
        ast.BoolOp: "values", ast.Compare: "left comparators", ast.FormattedValue: "value", ast.For: "iter",
        ast.comprehension: "iter", ast.If: "test", ast.While: "test", ast.IfExp: "test", ast.Assert: "test msg",
        ast.withitem: "context_expr", ast.Raise: "exc", ast.Match: "subject", ast.AugAssign: "value",
        ast.Delete: "targets",
    }.items()
    for field in fields.split()
)  # fmt: skip
# Modules whose members are tools, servers or the globals of a program.
_TOOL_MODULES = frozenset(["mcp", "tools", "limbeck"])
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, *COMPREHENSIONS)


def settle_unawaited(tree: ast.Module) -> None:
    """Puts `settle(...)` around calls that are meant as their answers, outside of coroutine functions.

    Inside of them nothing is changed but calls that are statements, which are awaited.
    """
    rewriter = _Rewriter(tree)
    try:
        rewriter.children(tree, inside_async=False)
    except RecursionError:
        # A tree too deep to be walked is left as it is; calls settle themselves when used.
        pass


class _Rewriter:
    def __init__(self, tree: ast.Module) -> None:
        nodes = walk(tree)
        self.toolish = _toolish_names(nodes)
        self.coroutines, self.generators, self.methods = _coroutine_functions(nodes)
        self.modules = _imported_modules(nodes)
        self.gathers = _names_of_gather(nodes)
        self.awaited = _awaited_names(nodes, returned=True)
        self.awaited_gathers = _awaited_names(nodes, returned=False) if self.gathers else self.awaited

    def children(self, node: ast.AST, inside_async: bool, answers: bool = False) -> None:
        """Visits what is below a node. `answers` is true when its items are used as answers."""
        if isinstance(node, ast.AsyncFunctionDef):
            inside_async = True
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
            inside_async = False
        for field, value in list(vars(node).items()):
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        value[index] = self.visit(item, node, field, inside_async, answers)
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value, node, field, inside_async, answers))

    def visit(self, node: Any, parent: ast.AST, field: str, inside_async: bool, answers: bool) -> Any:
        if isinstance(node, _DISPLAYS):
            below = isinstance(parent, ast.Call) and field == "args" and self.uses_values(parent.func)
            self.children(node, inside_async, below or answers and isinstance(parent, _DISPLAYS))
            return node
        self.children(node, inside_async)
        if not isinstance(node, ast.Call):
            return node
        if isinstance(node.func, ast.Name) and node.func.id in self.generators:
            return call_of(ITEMS_NAME, [node], node) if self.is_read_as_list(parent, field) else node
        if isinstance(parent, ast.Expr) and isinstance(node.func, ast.Attribute) and node.func.attr in self.methods:
            # Of any object that has a method of this name: another's result is left as it is.
            if not inside_async:
                return self.settled(node)
            return ast.Await(value=call_of(SETTLED_NAME, [node], node), **at(node))
        if not self.is_toolish(node):
            return node
        if isinstance(parent, ast.Expr):
            return ast.Await(value=node, **at(node)) if inside_async and not _is_emit(node) else self.settled(node)
        if inside_async:
            return node
        is_item = answers and isinstance(parent, _DISPLAYS)
        return self.settled(node) if is_item or self.is_meant_as_answer(node, parent, field) else node

    def is_read_as_list(self, parent: ast.AST, field: str) -> bool:
        """Whether the place takes the items of anything but an async generator."""
        if isinstance(parent, (ast.For, ast.comprehension)):
            return field == "iter" and not getattr(parent, "is_async", 0)
        if isinstance(parent, ast.Call) and field == "args":
            return isinstance(parent.func, ast.Name) and parent.func.id in _READERS
        return isinstance(parent, ast.Starred)

    def settled(self, node: ast.Call) -> ast.Call:
        return call_of(SETTLE_NAME, [node], node)

    def is_meant_as_answer(self, node: ast.Call, parent: ast.AST, field: str) -> bool:
        if (type(parent), field) in _VALUE_FIELDS:
            return True
        if isinstance(parent, _ASSIGNMENTS):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            # A call that is returned is awaited at the end; a list of results is as good, and can be printed before.
            awaited = self.awaited_gathers if self.is_gather(node) else self.awaited
            return not any(_may_be_one_of(target, awaited) for target in targets)
        if isinstance(parent, ast.Call) and field == "args":
            return self.uses_values(parent.func)
        return False

    def uses_values(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name):
            return function.id in _USERS
        if isinstance(function, ast.Attribute):
            if function.attr in _KEEPERS:
                return False
            if function.attr == "join":
                return True
        root = root_of(function)
        return root in self.modules and root not in _AWAITERS

    def is_gather(self, node: ast.Call) -> bool:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return f"{function.value.id}.{function.attr}" in self.gathers
        return isinstance(function, ast.Name) and function.id in self.gathers

    def is_toolish(self, node: ast.Call) -> bool:
        function: Any = node.func
        if self.is_gather(node):
            return True
        while True:
            if isinstance(function, ast.Name):
                if function is node.func and (function.id in self.coroutines or _is_emit(node)):
                    return True
                return function.id in self.toolish or function.id.startswith("mcp_")
            if isinstance(function, ast.Attribute):
                # `self.github`, but not every `re.search`.
                if function.attr in self.toolish and function.attr not in TOOL_ROOTS:
                    return True
                function = function.value
            elif isinstance(function, ast.Subscript):
                function = function.value
            elif isinstance(function, ast.Call):
                function = function.func
            else:
                return False


def _is_emit(node: ast.Call) -> bool:
    """Whether it calls `emit`, which a program may have replaced by a function that cannot be awaited."""
    return isinstance(node.func, ast.Name) and node.func.id == "emit"


def _toolish_names(nodes: list[Any]) -> set[str]:
    """Names and attributes through which a program may reach tools: found by what mentions them."""
    mentions: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            mentions.setdefault(node.name, set()).update(_names_in(node))
        elif isinstance(node, ast.ClassDef):
            continue
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Attribute, ast.Subscript, ast.Name, ast.Lambda)):
            for target in node.targets:
                name = getattr(target, "id", None) or getattr(target, "attr", None)
                if name:
                    mentions.setdefault(name, set()).update(_names_in(node.value))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _TOOL_MODULES:
            for alias in node.names:
                mentions.setdefault(alias.asname or alias.name, set()).add("tools")
    toolish = set(TOOL_ROOTS)
    while True:
        more = {name for name, used in mentions.items() if name not in toolish and used & toolish}
        if not more:
            return toolish
        toolish |= more


def _coroutine_functions(nodes: list[Any]) -> tuple[set[str], set[str], set[str]]:
    """Names that mean only coroutine functions of the program, or only async generator functions, and names of methods
    that are coroutine functions in every class of it: no decorator changes them, and no other statement gives the name
    a value.
    """
    names: set[str] = set()
    generators: set[str] = set()
    others: set[str] = set()
    methods: set[str] = set()
    not_methods: set[str] = set()
    if _runs_by_hand(nodes):
        return names, generators, methods
    for node in nodes:
        if isinstance(node, ast.AsyncFunctionDef):
            kind = others if node.decorator_list else generators if _is_generator(node) else names
            kind.add(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            others.add(node.name)
            # A method is not what a plain name means, but its name may be that of a function.
            for method in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(method, ast.AsyncFunctionDef):
                    others.add(method.name)
                    (not_methods if method.decorator_list or _is_generator(method) else methods).add(method.name)
                elif isinstance(method, ast.FunctionDef):
                    not_methods.add(method.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            others.add(node.id)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, ast.alias):
            others.add(node.asname or node.name)
    return names - generators - others, generators - names - others, methods - not_methods


def _runs_by_hand(nodes: list[Any]) -> bool:
    """Whether the program may run coroutines itself, as an event loop does."""
    stepped = []
    # `send` and `throw` with arguments that no coroutine takes.
    others: set[ast.expr] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            if node.attr.startswith("cr_"):
                return True
            if node.attr in ("send", "throw"):
                stepped.append(node)
        elif isinstance(node, ast.Call) and (node.keywords or not node.args):
            others.add(node.func)
    stepped = [node for node in stepped if node not in others]
    return bool(stepped) and not {root_of(node) for node in stepped} <= _names_of_tools(nodes[0])


def _names_of_tools(tree: ast.Module) -> set[str]:
    """Names that have only parts of the program's tools as their values: `s` of `s = tools.slack`."""
    values: dict[str, list[ast.expr | None]] = {}
    given: set[int] = set()
    for node in walk(tree):
        if isinstance(node, _ASSIGNMENTS):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
                    given.add(id(target))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            for alias in node.names:
                is_tool = (module or alias.name).partition(".")[0] in _TOOL_MODULES
                name = alias.asname or alias.name.partition(".")[0]
                values.setdefault(name, []).append(ast.Name("tools") if is_tool else None)
    for node in walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in given:
            values.setdefault(node.id, []).append(None)
        elif isinstance(node, ast.arg):
            values.setdefault(node.arg, []).append(None)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            values.setdefault(node.name, []).append(None)
    found = set(TOOL_ROOTS) | {name for name in _names_in(tree) if name.startswith("mcp_") and name not in values}
    while True:
        more = {
            name
            for name, all_values in values.items()
            if name not in found and all(value is not None and root_of(value) in found for value in all_values)
        }
        if not more:
            return found
        found |= more


def _is_generator(function: ast.AsyncFunctionDef) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk(function))


def warn_of_coroutines(names: dict[str, Any], text: str) -> None:
    """Warns at the end of coroutines of the program's `names` that did not run, and of those in the value's `text`."""
    host.warn_of_coroutine("the value", text)
    for name, value in list(names.items()):
        # Of plain collections alone: a class of the program may do anything when it is iterated.
        kind = type(value)
        items: Any = value.values() if kind is dict else value if kind in (list, tuple, set) else (value,)
        if name[:1] != "_" and any(map(_is_unstarted, islice(items, _ITEMS_LOOKED_AT))):
            host.warn(f"`{name}` has a coroutine that was never awaited, so it did not run; write `await` before the call")


def _is_unstarted(value: Any) -> bool:
    return type(value) is CoroutineType and inspect.getcoroutinestate(value) == inspect.CORO_CREATED


def _names_in(node: ast.AST) -> set[str]:
    names = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            names.add(inner.attr)
    return names


def _may_be_one_of(target: ast.expr, names: set[str]) -> bool:
    if isinstance(target, ast.Name):
        return target.id in names
    return isinstance(target, (ast.Attribute, ast.Subscript))


def _awaited_names(nodes: list[Any], returned: bool) -> set[str]:
    """Names whose values are awaited somewhere, in any scope.

    A name is awaited when `await` precedes it, when it goes to something that awaits or keeps it, when it
    is `returned` (if that counts), or when it is an item of a collection that is awaited.
    """
    awaited: set[str] = set()
    # When the first is awaited, so are the others.
    follows: list[tuple[set[str], set[str]]] = []
    for node in nodes:
        if isinstance(node, ast.Await):
            awaited |= _roots(node.value)
        elif isinstance(node, ast.Call) and _keeps(node.func):
            for item in [*node.args, *(keyword.value for keyword in node.keywords)]:
                awaited |= _roots(item)
        elif returned and isinstance(node, (ast.Return, ast.Yield)) and isinstance(node.value, ast.Name):
            awaited.add(node.value.id)
        elif isinstance(node, (ast.For, ast.comprehension)):
            follows.append((_roots(node.target), _roots(node.iter)))
        elif isinstance(node, ast.Assign):
            follows.extend((_roots(target), _roots(node.value)) for target in node.targets)
    _follow(awaited, follows)
    return awaited


def _follow(names: set[str], follows: list[tuple[set[str], set[str]]]) -> None:
    grown = True
    while grown:
        grown = False
        for first, others in follows:
            if first & names and not others <= names:
                names |= others
                grown = True


def _roots(node: ast.expr | None) -> set[str]:
    """The names that an expression is or collects: `a` of `a`, `*a`, `[a]`, `{"k": a}`, `a.values()` and `a[0]`."""
    if isinstance(node, ast.Starred):
        return _roots(node.value)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
        items = node.values if isinstance(node, ast.Dict) else node.elts
        return {name for item in items for name in _roots(item)}
    root = root_of(node) if node is not None else None
    return {root} if root is not None else set()


def _keeps(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name in _KEEPERS or root_of(function) in _AWAITERS


def _names_of_gather(nodes: list[Any]) -> set[str]:
    """How the program writes `asyncio.gather`, which is as a call of a tool: something to await."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {f"{alias.asname or alias.name}.gather" for alias in node.names if alias.name == "asyncio"}
        elif isinstance(node, ast.ImportFrom) and node.module == "asyncio":
            names |= {alias.asname or alias.name for alias in node.names if alias.name == "gather"}
    return names


def _imported_modules(nodes: list[Any]) -> set[str]:
    modules = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return modules
