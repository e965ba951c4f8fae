"""Which code of a program reaches its tools, as far as its names say."""

import ast
from types import CodeType
from typing import Any

from .facts import TOOL_ROOTS


def names_that_reach(tree: ast.Module) -> set[str]:
    """Names of tools, and of functions, classes and other values of the program that mention such a name, at any distance."""
    mentions: dict[str, set[str]] = {}
    reaching = set(TOOL_ROOTS)
    for node in ast.walk(tree):
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
    for node in ast.walk(tree):
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
