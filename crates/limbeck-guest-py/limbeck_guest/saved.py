"""`save_tool(function)`: a function kept between programs and found by its name in later ones.

The source of the function, with the imports it uses, is one value of the store. It is asked for only
when a program reads a name that nothing else explains.
"""

import ast
import builtins
import inspect
from collections.abc import Callable
from textwrap import dedent
from types import FunctionType
from typing import Any

from . import calls, host, jsontext, members
from .errors import ToolError
from .facts import Facts, gather

STORE_KEY = "limbeck:saved_tools"
SAVED_FILE_NAME = "saved_tools.py"

_print = jsontext.printer(None)
_getsource = inspect.getsource
_BUILTIN_NAMES = frozenset(vars(builtins))


_saved_here: list[Any] = []


def is_saved(value: Any) -> bool:
    """Whether a value is a function that this program gave to `save_tool`."""
    return isinstance(value, FunctionType) and any(value is function for function in _saved_here)


def save_tool(function: Any) -> Any:
    """Keeps a function under its name. As a decorator it gives the function back."""
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise TypeError(f"save_tool takes a function that has a name; got a {type(function).__name__}")
    try:
        source = dedent(_getsource(function))
    except (OSError, TypeError):
        raise ValueError(f"save_tool: the source of {function.__name__!r} is not known") from None
    tree = ast.parse(source)
    definition = tree.body[0]
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        # As a decorator it would save itself again each time it is loaded.
        definition.decorator_list = [item for item in definition.decorator_list if not _is_this(item)]
    text = "\n".join([*_imports_for(gather(tree), function), ast.unparse(tree)])
    saved = _load()
    saved[function.__name__] = text
    body = f'{{"key":{_print(STORE_KEY)},"value":{_print(saved)}}}'
    calls.ask(host.STORE_SET, body, "save_tool")
    _saved_here.append(function)
    return function


def _is_this(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "save_tool" or (
        isinstance(decorator, ast.Attribute) and decorator.attr == "save_tool"
    )


def _imports_for(facts: Facts, function: FunctionType) -> list[str]:
    """Import statements of the program that give the function names it uses."""
    lines = []
    program = _program_of(function)
    for statement in program.body if program is not None else []:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            bound = {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
            if bound & facts.loaded:
                lines.append(ast.unparse(statement))
    return lines


def _program_of(function: FunctionType) -> ast.Module | None:
    """The tree of the program that defines a function."""
    try:
        return ast.parse("".join(inspect.findsource(function)[0]))
    except (OSError, TypeError, SyntaxError):
        return None


def _load() -> dict[str, str]:
    value = calls.ask(host.STORE_GET, f'{{"key":{_print(STORE_KEY)}}}', "save_tool")
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


def provide(facts: Facts, names: dict[str, Any], names_for: Callable[[str, Facts], dict[str, Any]]) -> None:
    """Adds saved functions to `names` that the program uses and does not define.

    `names_for(text, facts)` are the names of servers and tools that a text uses. A saved function brings its own, as the
    program that calls it need not write any of them.
    """
    wanted = facts.loaded - facts.bound - names.keys() - _BUILTIN_NAMES
    if not wanted:
        return
    try:
        saved = _load()
    except ToolError:
        # Without a store nothing was saved; the program will hear that the name does not exist.
        return
    waiting = [name for name in sorted(wanted) if name in saved]
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        tree = ast.parse(saved[name], SAVED_FILE_NAME)
        uses = gather(tree)
        members.rewrite_reads(tree, saved[name])
        for other, value in names_for(saved[name], uses).items():
            names.setdefault(other, value)
        exec(compile(tree, SAVED_FILE_NAME, "exec", dont_inherit=True), names)
        waiting += [other for other in sorted(uses.loaded) if other in saved and other not in names]
