"""Reports of errors: tracebacks that show only the program's own lines, and the position of an error.

A program may pass objects that misbehave, so every function here may raise. `main` has a fallback for that.
"""


import linecache
import os
import traceback
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from types import TracebackType
from typing import Any, TextIO

from . import hints, host, jsontext
from .errors import ToolError
from .source import FILE_NAME

MESSAGE_BYTES_MAX = 8 << 10
# Frames of one traceback, from its beginning and from its end.
_FRAMES_SHOWN = 20
# Errors of one chain of causes.
_CHAIN_MAX = 8
_GROUP_DEPTH_MAX = 4
_TRACEBACK_CHARS_MAX = 32 << 10

_print = jsontext.printer(None)
_TracebackException = traceback.TracebackException
_line = linecache.getline


def cut(text: str, bytes_max: int = MESSAGE_BYTES_MAX) -> str:
    """The beginning of a text, in whole characters."""
    if len(text) * 4 <= bytes_max:
        return text
    data = text.encode("utf-8", "replace")
    return text if len(data) <= bytes_max else data[: bytes_max - 3].decode("utf-8", "ignore") + "…"


def error_json(
    name: str,
    message: str,
    line: int | None = None,
    column: int | None = None,
    hint: str | None = None,
    code: str | None = None,
) -> str:
    """The JSON of an error, with the fields that are known."""
    fields: dict[str, Any] = {"name": cut(name, 256), "message": cut(message)}
    for key, value in (("line", line), ("column", column), ("hint", hint), ("code", code)):
        if value is not None:
            fields[key] = cut(value, 2 << 10) if isinstance(value, str) else value
    return _print(fields)


def message_of(error: BaseException) -> str:
    """The text of an error. A class whose `__str__` raises is reported as such."""
    try:
        return str(error)
    except Exception as failure:
        return f"an error whose text cannot be read ({type(failure).__name__})"


def exception_json(error: BaseException) -> str:
    """The JSON of an error that the program did not catch."""
    line, column = position(error)
    innermost = _innermost(error)
    hint = hints.hint_for(innermost)
    return error_json(name_of(error), _headline(error), line, column, hint, _code_of(innermost))


def _code_of(error: BaseException) -> str | None:
    """The code of a failed call."""
    if not isinstance(error, ToolError):
        return None
    try:
        code = error.code
    except Exception:
        # A class of the program may have made it a property.
        return None
    return code if isinstance(code, str) else None


# Names by which the worker recognises that a limit was reached.
_OF_LIMITS = ("MemoryError", "RecursionError", "NeverSettles")


def name_of(error: BaseException) -> str:
    """The name of an error's class; with its module where a program has a class named like a limit's error."""
    name = type.__getattribute__(type(error), "__name__")
    if name in _OF_LIMITS and type(error).__module__ != "builtins":
        return f"{type(error).__module__}.{name}"
    return str(name)


def _headline(error: BaseException) -> str:
    """The message, and for a group those of its errors."""
    message = message_of(error)
    if not isinstance(error, BaseExceptionGroup):
        return message
    lines = [message]
    for inner in error.exceptions[:_CHAIN_MAX]:
        lines.append(f"{name_of(inner)}: {_headline(inner)}")
    return "\n".join(lines)


def _innermost(error: BaseException) -> BaseException:
    """The first error in a group that is not itself a group."""
    for _ in range(_CHAIN_MAX):
        if not isinstance(error, BaseExceptionGroup):
            break
        error = error.exceptions[0]
    return error


def syntax_json(error: SyntaxError, program: str) -> str:
    """The JSON of a program that does not parse."""
    column = error.offset if error.offset and error.offset > 0 else None
    hint = hints.syntax_hint(error, program)
    return error_json("SyntaxError", error.msg or "invalid syntax", error.lineno, column, hint)


def position(error: BaseException) -> tuple[int | None, int | None]:
    """Line and column, from 1, of the program's own code where an error came from."""
    where = getattr(error, "limbeck_position", None)
    if isinstance(where, tuple):
        return where
    frames = _own_frames(error.__traceback__)
    if not frames:
        inner = _innermost(error)
        frames = _own_frames(inner.__traceback__) if inner is not error else []
    if frames:
        last = frames[-1]
        return code_position(last.tb_frame.f_code, last.tb_lasti, last.tb_lineno)
    return None, None


def code_position(code: Any, instruction: int, line: int | None) -> tuple[int | None, int | None]:
    """Line and column of an instruction; columns count characters."""
    found = next(islice(code.co_positions(), instruction // 2, None), None) if instruction >= 0 else None
    if found is None or found[0] is None or found[2] is None:
        return line, None
    text = _line(FILE_NAME, found[0])
    return found[0], len(text.encode()[: found[2]].decode("utf-8", "replace")) + 1


def waiting_position(coroutine: Any) -> tuple[int | None, int | None] | None:
    """Where a suspended coroutine of the program waits, as deep as its own code goes."""
    found = None
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and frame.f_code.co_filename == FILE_NAME:
            found = code_position(frame.f_code, frame.f_lasti, frame.f_lineno)
        coroutine = getattr(coroutine, "cr_await", None)
    return found


def _own_frames(trace: TracebackType | None) -> list[TracebackType]:
    frames = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE_NAME:
            frames.append(trace)
        trace = trace.tb_next
    return frames


def hide_prelude() -> None:
    """Leaves the prelude's places out of tracebacks and warnings that a program prints. To be called once."""
    warnings.formatwarning = _format_warning
    package = os.path.dirname(__file__) + os.sep
    for name in ("walk_tb", "_walk_tb_with_full_positions"):
        setattr(traceback, name, _without(package, getattr(traceback, name)))


def _format_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    text = f"{category.__name__}: {message}\n"
    if category is RuntimeWarning and str(message).endswith("was never awaited"):
        where = f"line {lineno}: " if filename == FILE_NAME else ""
        host.warn(f"{where}{message}, so it did not run; write `await` before the call, or `asyncio.gather` for several")
    if filename != FILE_NAME:
        return text
    source = _line(FILE_NAME, lineno).strip() if line is None else line.strip()
    return f"{filename}:{lineno}: {text}" + (f"  {source}\n" if source else "")


def _without(package: str, walk: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    def walk_others(trace: TracebackType | None) -> Iterator[Any]:
        return (found for found in walk(trace) if not found[0].f_code.co_filename.startswith(package))

    return walk_others


def print_traceback(error: BaseException, stream: TextIO) -> None:
    """Prints the traceback of an error that was not caught, with the program's frames only."""
    if isinstance(error, MemoryError):
        _free_frames(error)
    _keep_own_frames(error, set(), 0)
    text = "".join(_TracebackException(type(error), error, error.__traceback__, compact=True).format())
    if len(text) > _TRACEBACK_CHARS_MAX:
        half = _TRACEBACK_CHARS_MAX // 2
        text = f"{text[:half]}\n...\n{text[-half:]}"
    stream.write(text)


def _free_frames(error: BaseException) -> None:
    """Clears the frames of an error, so that there is memory to report it."""
    trace = error.__traceback__
    while trace is not None:
        try:
            trace.tb_frame.clear()
        except RuntimeError:
            # A frame that still runs cannot be cleared.
            pass
        trace = trace.tb_next


def _keep_own_frames(error: BaseException | None, seen: set[int], depth: int) -> None:
    """Cuts the tracebacks of an error, of its causes and of the errors it groups down to our file."""
    for _ in range(_CHAIN_MAX):
        if error is None or id(error) in seen:
            return
        seen.add(id(error))
        frames = _own_frames(error.__traceback__)
        if len(frames) > 2 * _FRAMES_SHOWN:
            frames = frames[:_FRAMES_SHOWN] + frames[-_FRAMES_SHOWN:]
        trace = None
        for frame in reversed(frames):
            trace = TracebackType(trace, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
        error.__traceback__ = trace
        if isinstance(error, BaseExceptionGroup) and depth < _GROUP_DEPTH_MAX:
            for inner in error.exceptions[:_CHAIN_MAX]:
                _keep_own_frames(inner, seen, depth + 1)
        if error.__cause__ is not None:
            error = error.__cause__
        else:
            error = None if error.__suppress_context__ else error.__context__
    if error is not None:
        error.__cause__ = error.__context__ = None
