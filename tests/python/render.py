"""A program's value as JSON, by the rules for values that JSON does not have (`docs/reference/programs.md`)."""

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import math
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Iterator, KeysView, Mapping, Set, ValuesView
from typing import Any

# What JSON readers keep of an integer.
INTEGER_BITS_MAX = 64
AS_TEXT = (
    decimal.Decimal, fractions.Fraction, complex, pathlib.PurePath, uuid.UUID, zoneinfo.ZoneInfo,
    ipaddress.IPv4Address, ipaddress.IPv4Network,
)  # fmt: skip
AS_LIST = (list, tuple, collections.deque, range, KeysView, ValuesView, Set, Iterator)


def rendered(value: Any) -> Any:
    """The value as it comes back. Raises `ValueError` for one that contains itself."""
    return _rendered(value, ())


def _rendered(value: Any, above: tuple[int, ...]) -> Any:
    if id(value) in above:
        raise ValueError("the value contains itself")
    within = (*above, id(value))

    def pairs(items: Any) -> dict[str, Any]:
        return {_key(key): _rendered(item, within) for key, item in items}

    match value:
        case enum.Enum():
            return _rendered(value.value, above)
        case None | bool() | str():
            return value
        case int():
            return value if value.bit_length() <= INTEGER_BITS_MAX else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return pairs(value.items())
        case tuple() if hasattr(value, "_fields"):
            return pairs(zip(value._fields, value, strict=True))
        case set() | frozenset():
            return [_rendered(item, within) for item in _sorted(value)]
        case BaseException():
            return _error(value, within)
        case _ if isinstance(value, AS_LIST):
            return [_rendered(item, within) for item in value]
        case _ if dataclasses.is_dataclass(value):
            return pairs((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        case _:
            text = _text(value)
            return text if text is not None else pairs((k, v) for k, v in vars(value).items() if not k.startswith("_"))


def _text(value: Any) -> str | None:
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return _duration(value)
        case bytes() | bytearray():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return base64.b64encode(value).decode()
        case re.Pattern():
            return str(value.pattern)
        case type():
            return value.__qualname__
    return str(value) if isinstance(value, AS_TEXT) else None


def _key(key: Any) -> str:
    match key:
        case str():
            return str(key)
        case enum.Enum():
            return _key(key.value)
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[key]
        case float():
            return repr(key)
    return _text(key) or str(key)


def _sorted(items: Any) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))


def _error(error: BaseException, within: tuple[int, ...]) -> dict[str, Any]:
    known = {key: getattr(error, key, None) for key in ("code", "server", "tool", "hint")}
    made = {
        "name": type(error).__name__,
        "message": str(error),
        **{key: item for key, item in known.items() if item is not None},
    }
    if isinstance(error, BaseExceptionGroup):
        made["errors"] = [_error(each, within) for each in error.exceptions]
    return made


def _duration(span: datetime.timedelta) -> str:
    total = abs(span)
    minutes, seconds = divmod(total.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    exact = f"{seconds}.{total.microseconds:06}".rstrip("0").rstrip(".")
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + (f"{exact}S" if exact != "0" else "")
    days = f"{total.days}D" if total.days else ""
    sign = "-" if span < datetime.timedelta() else ""
    return f"{sign}P{days}T{time}" if time else f"{sign}P{days}" if days else "PT0S"
