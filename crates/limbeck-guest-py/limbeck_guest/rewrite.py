"""Changes to the tree of a program, so that its value is kept and `return` works at top level.

- `keep_last_expression` gives the last expression a name, so that its value is not dropped.
- `wrap_in_function` makes `return` at top level possible. The program's names stay global.
"""

import ast
from collections.abc import Iterator
from typing import Any

from .nodes import walk

FUNCTION_NAME = "<module>"
STAR_NAME = "<import *>"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def at(node: Any) -> dict[str, int]:
    """Position of a node, for its replacement."""
    return {
        "lineno": node.lineno, "col_offset": node.col_offset,
        "end_lineno": node.end_lineno, "end_col_offset": node.end_col_offset,
    }  # fmt: skip


def name_of(name: str, node: Any, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(id=name, ctx=context or ast.Load(), **at(node))


def call_of(name: str, arguments: list[ast.expr], node: Any) -> ast.Call:
    return ast.Call(func=name_of(name, node), args=arguments, keywords=[], **at(node))


def keep_last_expression(tree: ast.Module, name: str) -> None:
    """Gives the value of the last expression to a name; also inside `if __name__ == "__main__":`."""
    body = tree.body
    while body and isinstance(body[-1], ast.If) and _is_main_guard(body[-1].test):
        body = body[-1].body
    if body and isinstance(body[-1], ast.Expr):
        last = body[-1]
        body[-1] = ast.Assign(targets=[name_of(name, last, ast.Store())], value=last.value, **at(last))


_CLOCKS = frozenset("time monotonic perf_counter time_ns monotonic_ns perf_counter_ns now utcnow".split())


def mark_clock_loops(tree: ast.Module, name: str) -> None:
    """Gives the condition of each `while` that asks for the time, itself or in an `if` of its body, to the function of that
    name: the clock does not move while a program computes, and such a loop waits for it to move.
    """
    for node in walk(tree):
        if isinstance(node, ast.While):
            tests = [node.test, *(statement.test for statement in node.body if isinstance(statement, ast.If))]
            if any(_asks_for_time(test) for test in tests):
                node.test = call_of(name, [node.test], node.test)


def _asks_for_time(test: ast.expr) -> bool:
    functions = [node.func for node in walk(test) if isinstance(node, ast.Call)]
    return any((getattr(function, "attr", None) or getattr(function, "id", None)) in _CLOCKS for function in functions)


# Functions whose None is an answer: "there is no such thing".
_FINDERS = ("next", "max", "min")


def mark_answers(tree: ast.Module, name: str, value_name: str) -> None:
    """Gives the values that the program returns on purpose to the function of that name: a None among them is an answer. A
    call of a function that only lacks a `return` is not among them.
    """
    stack: list[Any] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, _SCOPES):
            continue
        is_value = isinstance(node, ast.Return) or (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == value_name
        )
        if is_value and node.value is not None and _may_be_none_on_purpose(node.value):
            node.value = call_of(name, [node.value], node.value)
        stack += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


def _may_be_none_on_purpose(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        function = value.func
        return function.attr == "get" if isinstance(function, ast.Attribute) else getattr(function, "id", None) in _FINDERS
    return isinstance(value, (ast.Name, ast.IfExp, ast.BoolOp)) or isinstance(value, ast.Constant) and value.value is None


def _is_main_guard(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return named and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def wrap_in_function(tree: ast.Module, awaits: bool) -> None:
    """Puts the program into a function that declares every name of its top level global."""
    _free_annotations(tree.body)
    _name_namespaces(tree.body)
    kept = [statement for statement in tree.body if _is_future(statement)]
    body: list[ast.stmt] = [statement for statement in tree.body if not _is_future(statement)]
    names = sorted(set(_bound_at_top(body)))
    where = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
    if names:
        body.insert(0, ast.Global(names=names, **where))
    options: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    kind = ast.AsyncFunctionDef if awaits else ast.FunctionDef
    function = kind(
        name=FUNCTION_NAME,
        args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=body,
        decorator_list=[],
        **options,
        **where,
    )
    tree.body = [*kept, function]


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists of a compound statement that is not a scope of its own."""
    if isinstance(statement, _SCOPES):
        return
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for holder in getattr(statement, "handlers", []) or getattr(statement, "cases", []):
        yield holder.body


def _free_annotations(block: list[ast.stmt]) -> None:
    """What a function cannot say of global names: annotations are dropped, `import *` is a call."""
    for index, statement in enumerate(block):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.value is None:
                block[index] = ast.Pass(**at(statement))
            else:
                block[index] = ast.Assign(targets=[statement.target], value=statement.value, **at(statement))
        elif isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            module = ast.Constant(value=statement.module or "", **at(statement))
            block[index] = ast.Expr(value=call_of(STAR_NAME, [module], statement), **at(statement))
        else:
            for inner in _blocks(statement):
                _free_annotations(inner)


# Functions that mean the namespace they are called in, and how many arguments they have without one.
_OF_NAMESPACES = {"exec": 1, "eval": 1, "locals": 0, "vars": 0, "dir": 0}


def _name_namespaces(body: list[ast.stmt]) -> None:
    """Has `exec(code)`, `locals()` and the like at top level mean the globals, as without the function."""
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if _OF_NAMESPACES.get(node.func.id) == len(node.args):
                if node.func.id in ("exec", "eval"):
                    node.args.append(call_of("globals", [], node))
                elif node.func.id == "dir":
                    node.func, node.args = name_of("sorted", node.func), [call_of("globals", [], node)]
                else:
                    node.func = name_of("globals", node.func)
        stack += ast.iter_child_nodes(node)


def _bound_at_top(body: list[ast.stmt]) -> Iterator[str]:
    """Names that the top level gives values to, also within its loops and conditions."""
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        if isinstance(node, COMPREHENSIONS):
            yield from _walrus_targets(node)
        elif not isinstance(node, _SCOPES):
            stack += ast.iter_child_nodes(node)


def _walrus_targets(comprehension: ast.expr) -> Iterator[str]:
    """A walrus in a comprehension gives its value to a name outside; the loop's names stay inside."""
    for node in walk(comprehension):
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
