"""From the text a model sent to the code that runs.

Accepted: a body with top-level `await` and `return`; a text in a fenced block, with or without words
around it; a program indented as a whole; a program that defines `main` or `run` and never calls it, which
is called with `input` if it takes an argument.

The value of a program is what it returns at top level; else the value of its last expression; else the
variable `result`, when it printed nothing.
"""

import ast
import linecache
import re
from types import CodeType
from typing import Any

from . import members, reach, rewrite, unawaited
from .facts import Facts, gather

FILE_NAME = "program.py"
# A name that no program can write, for what the program's last expression is.
VALUE_NAME = "<value>"
# The function that the condition of a loop is given to that asks for the time.
TURN_NAME = "<turn>"
# The function that the values of a program are given to.
ANSWER_NAME = "<answer>"

_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FENCE = re.compile(r"[ \t]*```[ \t]*([\w+.=-]*)[ \t]*")
_OUR_LANGUAGES = ("", "py", "python", "python3", "py3")


class Source:
    """A program that was read."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.tree = tree
        self.facts: Facts = gather(tree)


def read(text: str) -> Source:
    """Reads a program. Raises SyntaxError with the place in the text as it was sent."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        return Source(text, _parse(text))
    except SyntaxError as error:
        for candidate in (_fenced(text), _dedented(text, error)):
            if candidate is not None:
                return Source(candidate, _parse(candidate))
        raise


def _parse(text: str) -> ast.Module:
    # The tokenizer keeps no memory of how deep a text may nest; it says so by other errors.
    try:
        return compile(text, FILE_NAME, "exec", _FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
    except (RecursionError, MemoryError):
        raise SyntaxError("the program is nested too deeply") from None
    except ValueError as error:
        raise SyntaxError(str(error)) from None


def _fenced(text: str) -> str | None:
    """The first fenced block in our language, else the first, at its own line numbers."""
    blocks: list[tuple[str, int, list[str]]] = []
    open_block: tuple[str, int, list[str]] | None = None
    for number, line in enumerate(text.split("\n")):
        fence = _FENCE.fullmatch(line)
        if open_block is None:
            if fence is not None:
                open_block = (fence[1].lower(), number + 1, [])
                blocks.append(open_block)
        elif fence is not None and not fence[1]:
            open_block = None
        else:
            open_block[2].append(line)
    if not blocks:
        return None
    _, line, lines = next((block for block in blocks if block[0] in _OUR_LANGUAGES), blocks[0])
    return "\n" * line + "\n".join(lines) + "\n"


def _dedented(text: str, error: SyntaxError) -> str | None:
    """The text without what all of its lines begin with."""
    if not isinstance(error, IndentationError):
        return None
    from textwrap import dedent

    dedented = dedent(text)
    return dedented if dedented != text else None


def remember(source: Source) -> None:
    """Lets tracebacks and `inspect.getsource` show the lines of the program."""
    text = source.text
    linecache.cache[FILE_NAME] = (len(text), None, text.splitlines(True), FILE_NAME)


def tree_again() -> ast.Module:
    """The tree of the program that was remembered, as it was written; an empty one for a program that is gone."""
    entry = linecache.cache.get(FILE_NAME)
    try:
        return _parse("".join(entry[2]) if entry is not None and len(entry) == 4 else "")
    except (SyntaxError, MemoryError):
        # What it would say is not worth the value of the program.
        return ast.Module(body=[], type_ignores=[])


def code_of(source: Source, entry: Any) -> CodeType:
    """Compiles a program to code that runs in its globals; see `Program.run` for where the value goes.

    `entry` is the function that is called at the end, if any. Raises SyntaxError.
    """
    tree = source.tree
    if source.facts.is_async:
        unawaited.settle_unawaited(tree)
    members.rewrite_reads(tree, source.text)
    if entry is None and tree.body:
        rewrite.keep_last_expression(tree, VALUE_NAME)
    if "while" in source.text:
        rewrite.mark_clock_loops(tree, TURN_NAME)
    rewrite.mark_answers(tree, ANSWER_NAME, VALUE_NAME)
    reach.mark_unread(tree, source.facts)
    if source.facts.returns:
        rewrite.wrap_in_function(tree, source.facts.awaits)
    try:
        return compile(tree, FILE_NAME, "exec", _FLAGS, dont_inherit=True)
    except (RecursionError, MemoryError):
        raise SyntaxError("the program is nested too deeply") from None
    except ValueError as error:
        raise SyntaxError(str(error)) from None


