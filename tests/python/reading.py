"""Preparation of a program for native CPython, by the rules of `docs/reference/programs.md`.

Beyond plain Python these are: `return` and `await` outside of functions; the value of the last expression,
also below `if __name__ == "__main__":`; a function `main` or `run` that is never called; a text in a fenced
block; a text that is indented as a whole.
"""

import ast
import re
import textwrap
from dataclasses import dataclass
from types import CodeType
from typing import Any

FILE = "program.py"
# Names that the code of a program uses beside its own.
LAST, RETURNED = "__last__", "__Returned__"

FENCE = re.compile(r"^```(?:python|py)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GUARD = "__name__ == '__main__'"


class Returned(BaseException):
    """A `return` outside of any function."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


@dataclass(frozen=True)
class Readable:
    """A program that was read."""

    text: str
    code: CodeType
    is_async: bool
    # A function that the program leaves to be called, and whether it takes the input.
    entry: str | None
    entry_takes_input: bool


def read(source: str) -> Readable:
    """Reads a program. Raises `SyntaxError`."""
    text = _plain(source)
    tree = _TopLevelReturns().visit(ast.parse(text, FILE))
    entry = _entry(tree)
    _keep_last_expression(tree.body)
    ast.fix_missing_locations(tree)
    code = compile(tree, FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    takes_input = entry is not None and bool(entry.args.args)
    return Readable(text, code, _is_async(tree), entry.name if entry else None, takes_input)


def _plain(source: str) -> str:
    try:
        ast.parse(source)
    except SyntaxError:
        if fenced := FENCE.search(source):
            return "\n" * source[: fenced.start(1)].count("\n") + fenced[1]
        if _parses(dedented := textwrap.dedent(source)):
            return dedented
    return source


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


class _TopLevelReturns(ast.NodeTransformer):
    """Makes `raise Returned(value)` of every `return` that is in no function."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        raised = ast.Call(ast.Name(RETURNED, ast.Load()), [node.value] if node.value else [], [])
        return ast.copy_location(ast.Raise(raised, None), node)

    def _keep(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _keep


def _keep_last_expression(body: list[ast.stmt]) -> None:
    match body:
        case [*_, ast.Expr(value) as last]:
            body[-1] = ast.copy_location(ast.Assign([ast.Name(LAST, ast.Store())], value), last)
        case [*_, ast.If(test, inner)] if ast.unparse(test) == GUARD:
            _keep_last_expression(inner)


def _entry(tree: ast.Module) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in ("main", "run"):
            return None if node.name in named else node
    return None


def _is_async(tree: ast.Module) -> bool:
    kinds = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef)
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return "asyncio" in names or any(
        isinstance(node, kinds) or getattr(node, "is_async", False) for node in ast.walk(tree)
    )
