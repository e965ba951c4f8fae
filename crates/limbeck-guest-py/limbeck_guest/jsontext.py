"""JSON text in, records out; plain values in, JSON text out.

The parser and the printer are the interpreter's own in C, held here: a program may replace every
function of `json` and still get the answers of tools.
"""

import json.encoder
from _json import make_encoder as _make_encoder
from _json import make_scanner as _make_scanner
from collections.abc import Callable
from typing import Any

from .record import Record

_WHITESPACE = " \t\n\r"


class _Options:
    """Context of the parser in C: objects become records, everything else is as in `json`."""

    strict = False
    object_hook = Record
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan_records = _make_scanner(_Options)
_encode_string = json.encoder.encode_basestring


def decode(text: str, scan: Any = _scan_records) -> Any:
    """The value of a JSON text, its objects as records.

    Raises ValueError for text that is not JSON, and RecursionError for one nested too deeply.
    """
    start = len(text) - len(text.lstrip(_WHITESPACE)) if text[:1] in _WHITESPACE else 0
    try:
        value, end = scan(text, start)
    except StopIteration:
        raise ValueError("the text is not JSON") from None
    if end != len(text) and text[end:].strip(_WHITESPACE):
        raise ValueError("the text goes on after its JSON")
    return value


def try_decode(text: str) -> Any:
    """The value of a text that is a JSON object or list; None for any other text."""
    if text.lstrip(_WHITESPACE)[:1] not in ("{", "["):
        return None
    try:
        return decode(text)
    except (ValueError, RecursionError):
        return None


def printer(default: Any) -> Callable[[Any], str]:
    """A function from a value to its JSON text. `default(value)` replaces values that have no JSON form.

    It raises ValueError for a cycle, NaN and infinities, TypeError for a key that is not a scalar, and
    RecursionError for a value nested too deeply.
    """

    def encode(value: Any) -> str:
        markers: dict[int, Any] = {}
        # (markers, default, encoder, indent, key_separator, item_separator, sort_keys, skipkeys, allow_nan)
        chunks = _make_encoder(markers, default, _encode_string, None, ":", ",", False, False, False)
        return "".join(chunks(value, 0))

    return encode
