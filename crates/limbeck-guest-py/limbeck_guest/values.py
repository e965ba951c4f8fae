"""Values on their way out: what a program returns, and the arguments of its calls.

Plain values (None, booleans, numbers, strings, lists, tuples, dicts with string keys) go to the printer
in C as they are. Anything else is rendered first, by the table in `docs/reference/values.md`: dates as ISO 8601,
sets as lists, dataclasses as objects and so on. What has no rendering is its `repr` in a returned
value, where a person or a model reads it, and an error in an argument, where a server would.
"""

import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import types
import uuid
from base64 import b64encode
from collections import UserDict, UserList, UserString, deque
from collections.abc import Callable, Iterator, Mapping, Set
from itertools import islice
from typing import Any

from . import host, jsontext
from .lazy import is_call, resolved

# Nesting of a value; the gateway reads no more.
DEPTH_MAX = 127
# Items drawn from one iterator. A generator without end must not fill the memory first.
ITEMS_MAX = 1_000_000
# Integers beyond this many bits are written as strings: JSON readers keep no more.
_INTEGER_BITS_MAX = 64
_INTEGER_LIMIT = 1 << _INTEGER_BITS_MAX
_REPR_CHARS_MAX = 2_000
_UNWRITABLE_SHOWN_MAX = 3

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")

_SCALARS = frozenset([str, int, float, bool, type(None)])
_LITERALLY = (
    decimal.Decimal, fractions.Fraction, complex, pathlib.PurePath, uuid.UUID, ipaddress.IPv4Address,
    ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network, ipaddress.IPv4Interface,
    ipaddress.IPv6Interface, datetime.tzinfo, UserString,
)  # fmt: skip
_WITHOUT_VALUE = (
    type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType,
)  # fmt: skip
_AWAITABLE = (types.CoroutineType, types.AsyncGeneratorType)
_LISTS = (list, tuple, deque, range, UserList)


class NoJson(TypeError):
    """The value has no JSON form; the text says where and why."""


class _Odd(Exception):
    """The value is not plain."""


def encode_value(value: Any, awaited: Callable[[Any], Any] | None = None) -> str:
    """JSON text of what a program returned. `awaited` gives what a coroutine or future in it comes to. Raises NoJson."""
    return _encode(value, _Renderer("value", readable=True, awaited=awaited))


def encode_arguments(arguments: Any, label: str = "argument") -> str:
    """JSON text of a call's arguments. Raises NoJson, also for what only a reader could understand."""
    return _encode(arguments, _Renderer(label, readable=False))


def render(value: Any) -> Any:
    """The value, made of dicts, lists and scalars alone. Raises NoJson."""
    return _Renderer("value", readable=True).render(value)


def _refuse(value: Any) -> Any:
    raise _Odd


_print_plain = jsontext.printer(_refuse)


def _encode(value: Any, renderer: "_Renderer") -> str:
    if _is_plain(value):
        try:
            return _print_plain(value)
        except (_Odd, ValueError, TypeError):
            # NaN, infinity, or a key that is not a string: left to the renderer.
            pass
    rendered = renderer.render(value)
    if renderer.unwritable:
        host.warn(
            f"NaN and infinity have no form in JSON, so these were written as null: {', '.join(renderer.unwritable)}"
            + (" and more" if renderer.more_unwritable else "")
        )
    return _print_plain(rendered)


def _is_plain(value: Any) -> bool:
    """Whether the printer says all of the value and comes to an end: no cycle, no class of its own."""
    level = [value]
    for _ in range(DEPTH_MAX):
        deeper: list[Any] = []
        for current in level:
            if isinstance(current, dict):
                items: Any = current.values()
            elif type(current) in (list, tuple):
                items = current
            elif isinstance(current, str) or type(current) in _SCALARS:
                items = (current,)
            else:
                return False
            kinds = set(map(type, items))
            if int in kinds and not all(_is_small(item) for item in items if type(item) is int):
                return False
            if not kinds <= _SCALARS:
                deeper += [item for item in items if type(item) not in _SCALARS and not isinstance(item, str)]
        if not deeper:
            return True
        # Each once: a value that holds another twice, and that a third one twice, must not double the work.
        level = list({id(item): item for item in deeper}.values())
    return False


def _is_small(number: int) -> bool:
    return -_INTEGER_LIMIT < number < _INTEGER_LIMIT


class _Renderer:
    """Turns one value into plain ones; knows the place it is at, for what it has to say."""

    def __init__(self, root: str, readable: bool, awaited: Callable[[Any], Any] | None = None) -> None:
        self.readable = readable
        self.awaited = awaited
        self.path = [root]
        self.above: dict[int, str] = {}
        # Places of numbers that JSON does not have.
        self.unwritable: list[str] = []
        self.more_unwritable = False

    def render(self, value: Any) -> Any:
        kind = type(value)
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            return value if _is_small(value) else self.large(value)
        if kind is float:
            return value if value - value == 0 else self.unwritable_number()
        return self.other(value)

    def unwritable_number(self) -> None:
        """NaN or an infinity: null, as `JSON.stringify` has it, with a warning."""
        if len(self.unwritable) < _UNWRITABLE_SHOWN_MAX:
            self.unwritable.append(self.place())
        else:
            self.more_unwritable = True

    def other(self, value: Any) -> Any:
        if is_call(value):
            return self.render(resolved(value))
        if self.awaited is not None and (isinstance(value, _AWAITABLE) or _is_future(value)):
            return self.render(self.awaited(value))
        scalar = self.scalar(value)
        if scalar is not _NO_SCALAR:
            return scalar
        if len(self.path) > DEPTH_MAX:
            raise NoJson(f"{self.place()} is nested more than {DEPTH_MAX} levels deep")
        if id(value) in self.above:
            raise NoJson(f"{self.place()} refers back to {self.above[id(value)]}; JSON cannot hold a cycle")
        self.above[id(value)] = self.place()
        try:
            return self.container(value)
        finally:
            del self.above[id(value)]

    def scalar(self, value: Any) -> Any:
        """What is one text or number, or `_NO_SCALAR`."""
        if isinstance(value, enum.Enum):
            return self.render(value.value)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return self.render(int.__add__(value, 0))
        if isinstance(value, float):
            return self.render(float.__add__(value, 0.0))
        if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
            return value.isoformat()
        if isinstance(value, datetime.timedelta):
            return duration(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _text_of_bytes(bytes(value))
        if isinstance(value, re.Pattern):
            return self.render(value.pattern)
        if isinstance(value, _LITERALLY):
            return str(value)
        return _NO_SCALAR

    def container(self, value: Any) -> Any:
        if isinstance(value, (Mapping, UserDict)):
            return self.pairs(value.items())
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self.pairs(zip(value._fields, value))
        if isinstance(value, _LISTS):
            return self.items(value)
        if isinstance(value, (Set, frozenset, set)):
            return self.items(_sorted(value))
        if isinstance(value, BaseException):
            return self.error(value)
        if isinstance(value, _WITHOUT_VALUE):
            return self.opaque(value)
        return self.object(value)

    def object(self, value: Any) -> Any:
        """An object of a class that is not a container."""
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            return self.pairs((name, getattr(value, name, None)) for name in names)
        for name in ("model_dump", "tolist", "item", "to_dict", "_asdict"):
            # As pydantic, arrays of numbers, their scalars, and data frames have them. Of the class, because
            # an object may answer to every name, as a server does for tools.
            method = getattr(type(value), name, None)
            if callable(method):
                return self.render(method(value))
        if isinstance(value, types.AsyncGeneratorType):
            raise NoJson(f"{self.place()} is an async generator; write `[item async for item in {value.__name__}(...)]`")
        if isinstance(value, types.CoroutineType):
            raise NoJson(f"{self.place()} is a {type(value).__name__} that was not awaited; write `await` before its call")
        if isinstance(value, Iterator) or isinstance(value, types.MappingProxyType) or _is_view(value):
            return self.items(value)
        if self.readable:
            return self.attributes(value)
        return self.opaque(value)

    def attributes(self, value: Any) -> Any:
        """An object of a program's own class: its public attributes, unless the class has a text for it."""
        kind = type(value)
        if isinstance(value, types.SimpleNamespace):
            return self.pairs(vars(value).items())
        own_text = kind.__repr__ is not object.__repr__ or kind.__str__ is not object.__str__
        try:
            attributes = vars(value)
        except TypeError:
            attributes = {}
        public = {name: item for name, item in attributes.items() if not str(name).startswith("_")}
        if own_text or not public:
            return self.opaque(value)
        return self.pairs(public.items())

    def opaque(self, value: Any) -> str:
        if not self.readable:
            what = _kind_name(value)
            raise NoJson(f"{self.place()} is {what}, which has no JSON form")
        if isinstance(value, type):
            return value.__qualname__
        kind = type(value)
        if kind is types.FunctionType:
            name = value.__name__
            what = f"the function `{name}`, which was" if name.isidentifier() else "a function that was"
            host.warn(f"{self.place()} is {what} not called; call it with `(...)`")
        elif kind.__name__ == "Tool" and kind.__module__.startswith(__name__.partition(".")[0]):
            call = repr(value)[1:-1]
            host.warn(f"{self.place()} is a tool that was not called; write `{call}(...)`")
        text = str(value) if kind.__str__ is not object.__str__ else repr(value)
        return _ADDRESS.sub("", text[:_REPR_CHARS_MAX])

    def error(self, error: BaseException) -> Any:
        rendered: dict[str, Any] = {"name": type(error).__name__, "message": str(error)}
        for name in ("code", "server", "tool", "hint"):
            detail = getattr(error, name, None)
            if isinstance(detail, (str, int)):
                rendered[name] = detail
        if isinstance(error, BaseExceptionGroup):
            rendered["errors"] = self.items(error.exceptions)
        return rendered

    def items(self, items: Any) -> list[Any]:
        rendered = []
        self.path.append("")
        for index, item in enumerate(islice(iter(items), ITEMS_MAX + 1)):
            if index == ITEMS_MAX:
                raise NoJson(f"{self.above_place()} has more than {ITEMS_MAX} items")
            self.path[-1] = f"[{index}]"
            rendered.append(self.render(item))
        self.path.pop()
        return rendered

    def pairs(self, pairs: Any) -> dict[str, Any]:
        rendered = {}
        self.path.append("")
        for key, item in pairs:
            name = self.key(key)
            self.path[-1] = f".{name}" if _IDENTIFIER.match(name) else f"[{name!r}]"
            rendered[name] = self.render(item)
        self.path.pop()
        return rendered

    def key(self, key: Any) -> str:
        """A key as a string: scalars as JSON writes them, anything else as the value would be, or its text."""
        if type(key) is str:
            return key
        if key is None:
            return "null"
        if isinstance(key, bool):
            return "true" if key else "false"
        scalar = self.scalar(key)
        if scalar is _NO_SCALAR:
            return _ADDRESS.sub("", str(key)[:_REPR_CHARS_MAX])
        return self.key(scalar) if type(scalar) in (bool, type(None)) else str(scalar)

    def large(self, number: int) -> str:
        try:
            return int.__repr__(number)
        except ValueError:
            raise NoJson(f"{self.place()} is a number of {number.bit_length()} bits, too long to write down") from None

    def place(self) -> str:
        return "".join(self.path)

    def above_place(self) -> str:
        return "".join(self.path[:-1])


_NO_SCALAR = object()


def _text_of_bytes(data: bytes) -> str:
    """UTF-8 as the text it is; anything else in base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()


def _sorted(items: Any) -> list[Any]:
    """In an order that does not depend on hashes: their own, or that of their texts."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))


def _is_future(value: Any) -> bool:
    # As `asyncio.isfuture` has it, which this module cannot import: the loop needs it.
    return getattr(type(value), "_asyncio_future_blocking", None) is not None


def _is_view(value: Any) -> bool:
    return type(value).__name__ in ("dict_keys", "dict_values", "dict_items", "array")


def _kind_name(value: Any) -> str:
    name = "function" if callable(value) and not isinstance(value, type) else type(value).__name__
    article = "an" if name[0].lower() in "aeiou" else "a"
    return f"{article} {name}"


def duration(delta: datetime.timedelta) -> str:
    """A time span as ISO 8601 has it, such as `P1DT2H30M` or `-PT0.5S`."""
    sign = "-" if delta.days < 0 else ""
    delta = abs(delta)
    hours, seconds = divmod(delta.seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    if delta.microseconds:
        parts.append(f"{seconds}.{delta.microseconds:06}".rstrip("0") + "S")
    elif seconds:
        parts.append(f"{seconds}S")
    time = "".join(parts)
    days = f"{delta.days}D" if delta.days else ""
    if not days and not time:
        return "PT0S"
    return f"{sign}P{days}" + (f"T{time}" if time else "")
