"""Which code of a program reaches its tools, as far as its names say."""

import ast
from types import CodeType
from typing import Any

from . import host
from .facts import TOOL_ROOTS, Facts
from .nodes import walk
from .rewrite import at, call_of

# The function that a value is given to which nothing reads.
UNREAD_NAME = "<unread>"
_LAZY = ("map", "filter")
# Names of functions that may read any variable.
_READERS = frozenset("exec eval globals locals vars".split())


def names_that_reach(tree: ast.Module) -> set[str]:
    """Names of tools, and of functions, classes and other values of the program that mention such a name, at any distance."""
    mentions: dict[str, set[str]] = {}
    reaching = set(TOOL_ROOTS)
    for node in walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            mentions.setdefault(node.name, set()).update(names_in(node))
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            used = names_in(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in names_in(target):
                    mentions.setdefault(name, set()).update(used)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if (module or alias.name).partition(".")[0] in ("mcp", "tools", "limbeck"):
                    reaching.add(alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, ast.Name) and node.id.startswith("mcp_"):
            reaching.add(node.id)
    while True:
        more = {name for name, used in mentions.items() if name not in reaching and used & reaching}
        if not more:
            return reaching
        reaching |= more


def names_in(tree: ast.AST) -> set[str]:
    """Every name and attribute that a tree mentions."""
    names = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return names


def names_of_code(code: CodeType) -> set[str]:
    """Every name that code mentions, with that of functions inside of it."""
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_of_code(constant)
    return names


def may_call(coroutine: Any, reaching: set[str], file_name: str) -> bool:
    """Whether a suspended coroutine, or one that it awaits, is code of the program that reaches tools."""
    while coroutine is not None:
        code = getattr(coroutine, "cr_code", None)
        if isinstance(code, CodeType) and code.co_filename == file_name and names_of_code(code) & reaching:
            return True
        coroutine = getattr(coroutine, "cr_await", None)
    return False


def mark_unread(tree: ast.Module, facts: Facts) -> None:
    """Puts `unread(...)` around what makes its calls when its items are read, where nothing reads them: a `map`, a
    `filter` or a generator expression that is a statement, or the value of a name that the program never reads.
    """
    found = [node for node in walk(tree) if isinstance(node, (ast.Expr, ast.Assign)) and _is_unread(node, facts)]
    if not found:
        return
    reaching = names_that_reach(tree)
    for node in found:
        if any(names_in(part) & reaching for part in _run_later(node.value)):
            line = ast.Constant(value=node.value.lineno, **at(node.value))
            node.value = call_of(UNREAD_NAME, [node.value, line], node.value)


def _is_unread(node: ast.Expr | ast.Assign, facts: Facts) -> bool:
    value = node.value
    if isinstance(value, ast.Call):
        if not isinstance(value.func, ast.Name) or value.func.id not in _LAZY or value.func.id in facts.bound:
            return False
    elif not isinstance(value, ast.GeneratorExp):
        return False
    if isinstance(node, ast.Expr):
        return True
    names = [target.id if isinstance(target, ast.Name) else None for target in node.targets]
    # `result` may be the value of the program, and a name such as `<value>` is.
    return not any(name is None or name == "result" or not name.isidentifier() or name in facts.loaded for name in names) and (
        not facts.loaded & _READERS
    )


def _run_later(value: Any) -> list[ast.AST]:
    """What runs when items are read: a first collection is there before."""
    if isinstance(value, ast.Call):
        return value.args[:1]
    first, *rest = value.generators
    return [value.elt, *first.ifs, *rest]


def unread(value: Any, line: int) -> Any:
    """Warns of calls that are not made."""
    what = f"`{type(value).__name__}`" if type(value).__name__ in _LAZY else "a generator expression"
    host.warn(f"line {line}: {what} makes its calls when its items are read, and nothing reads them, so no call was made; write a `for` loop")
    return value


def own_fields(tree: ast.Module) -> set[str]:
    """Fields that the program itself assigns, and those that it asks for in an `if` that raises: it does not expect them."""
    fields = set()
    for node in walk(tree):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            fields |= _fields_in(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
            fields |= _texts(node.args[:1])
        elif isinstance(node, ast.If) and any(isinstance(statement, ast.Raise) for statement in node.body):
            for inner in walk(node.test):
                fields |= _fields_in(inner)
    return fields


def _fields_in(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.Subscript):
        return _texts([node.slice])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return _texts(node.args[:1])
    return set()


def _texts(nodes: list[ast.expr]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
