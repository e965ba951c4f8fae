"""JSON objects as programs see them: dicts whose keys are attributes too."""

from copy import deepcopy
from difflib import get_close_matches
from typing import Any

_KEYS_SHOWN = 12
_NEAREST = 3


class Record(dict[str, Any]):
    """A dict with `record.key` beside `record["key"]`.

    A method of every dict wins over a key of the same name, as in `record.items()`. Where a program does not call
    it, `members` reads the key.
    """

    __slots__ = ()

    def __missing__(self, key: Any) -> Any:
        error = KeyError(key)
        if isinstance(key, str):
            error.hint = _missing(self, key)  # type: ignore[attr-defined]
        raise error

    def __getattr__(self, name: str) -> Any:
        try:
            return dict.__getitem__(self, name)
        except KeyError:
            raise AttributeError(_missing(self, name), name=name, obj=None) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(_missing(self, name), name=name, obj=None) from None

    def copy(self) -> "Record":
        return Record(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> "Record":
        made = memo[id(self)] = Record()
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # For `pickle`, which could not import the class again: a program cannot either.
        return dict, (dict(self),)


# What `type(result)` shows.
Record.__module__ = "builtins"


# Members of MCP's own results, which a program that calls `tools` does not see.
_OF_RAW_RESULTS = frozenset(["content", "structuredContent", "isError", "result", "text"])
_UNWRAPPED = "; the result is unwrapped already, `tools.server.tool.raw(...)` gives the CallToolResult"


def _missing(record: dict[Any, Any], name: str) -> str:
    return _absent(record, name) + (_UNWRAPPED if name in _OF_RAW_RESULTS else "")


def _absent(record: dict[Any, Any], name: str) -> str:
    keys = [key for key in record if isinstance(key, str)]
    near = get_close_matches(name, keys, _NEAREST, 0.6)
    if near:
        return f"no field {name!r}; the nearest are {', '.join(map(repr, near))}"
    if not keys:
        return f"no field {name!r}; the object is empty"
    shown = ", ".join(map(repr, keys[:_KEYS_SHOWN]))
    rest = len(keys) - _KEYS_SHOWN
    return f"no field {name!r}; there are {shown}" + (f" and {rest} more" if rest > 0 else "")
