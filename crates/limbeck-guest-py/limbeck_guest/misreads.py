"""What a program read that its results do not have, to explain a value that is empty.

`order.get("state")` of an order with `status` is None, and the sum or list that is made of it is 0 or empty: the program
completes with a wrong answer. Many programs ask for optional fields, so this is reported only beside an empty value.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from . import host

_NAMES_MAX = 20
_NAME_CHARS_MAX = 60
_SHOWN_MAX = 3
_FOUND_MAX = 1_000
# Characters of JSON up to which a value can be empty; the gateway has the same bound.
_EMPTY_CHARS_MAX = 1024
_FILE_NAME = "program.py"
# Files between a read in the program and this one.
_BETWEEN = frozenset(
    os.path.join(os.path.dirname(__file__), name) for name in ("misreads.py", "record.py", "lazy.py", "members.py")
)

# Sentences by name, with the line of the first read; names that some object had.
_absent: dict[str, str] = {}
_found: set[Any] = set()
_others: list[str] = []


def forget() -> None:
    """Forgets everything, before a program runs."""
    _absent.clear()
    _found.clear()
    _others.clear()


def found(name: Any) -> None:
    """Notes that an object has the field: where others do not, it is optional."""
    if len(_found) < _FOUND_MAX:
        _found.add(name)


def absent(name: str, describe: Callable[[dict[Any, Any], str], str], record: dict[Any, Any]) -> None:
    """Notes a read of a field that the object does not have. `describe` says which it has."""
    if name in _absent or len(_absent) >= _NAMES_MAX or len(name) > _NAME_CHARS_MAX:
        return
    line = _line()
    if line is not None:
        _absent[name] = f"line {line}: {describe(record, name)}"


def other(text: str) -> None:
    """Notes another read whose outcome says nothing, such as a loop over the characters of a text."""
    line = _line()
    if line is not None and len(_others) < _SHOWN_MAX:
        sentence = f"line {line}: {text}"
        if sentence not in _others:
            _others.append(sentence)


def last_loop() -> str | None:
    """What is wrong with the last loop that was noted: the next step for an error in it."""
    return _others[-1] if _others else None


def _line() -> int | None:
    """The line of the program that reads; None where a library does, or another module of this package."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename in _BETWEEN:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None and frame.f_code.co_filename == _FILE_NAME else None


def explain(text: str, decode: Callable[[str], Any], own: Callable[[], set[str]] = set) -> None:
    """Warns beside a value that is empty, of which `text` is the JSON. `own` are fields that explain nothing."""
    if not (_absent or _others) or not 0 < len(text) <= _EMPTY_CHARS_MAX or not _is_empty(decode(text)):
        return
    innocent = own() | _found
    sentences = [sentence for name, sentence in _absent.items() if name not in innocent] + _others
    if sentences:
        shown = "; ".join(sentences[:_SHOWN_MAX])
        more = len(sentences) - _SHOWN_MAX
        host.warn(
            f"the value is empty, and the program read what its results do not have: {shown}"
            + (f"; and {more} more" if more > 0 else "")
        )


def _is_empty(value: Any) -> bool:
    """Whether a value has no content, by the rule of the gateway: it and its parts are null, 0 or empty. `false` alone is
    empty too: it may be the answer of a test that read nothing."""
    return value is False or _has_nothing(value)


def _has_nothing(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_has_nothing, value.values()))
    if isinstance(value, list):
        return all(map(_has_nothing, value))
    return value is None or value == "" or value == 0 and value is not False
