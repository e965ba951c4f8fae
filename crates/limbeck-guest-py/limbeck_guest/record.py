"""JSON objects as programs see them: dicts whose keys are attributes too."""

from copy import deepcopy
from difflib import get_close_matches
from typing import Any

from . import misreads

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
            misreads.absent(key, _missing, self)
            error.hint = _missing(self, key)  # type: ignore[attr-defined]
        raise error

    def __getattr__(self, name: str) -> Any:
        try:
            value = dict.__getitem__(self, name)
        except KeyError:
            if name[:1] != "_":
                misreads.absent(name, _missing, self)
            raise AttributeError(_missing(self, name), name=name, obj=None) from None
        misreads.found(name)
        return value

    def __contains__(self, key: Any) -> bool:
        if dict.__contains__(self, key):
            return True
        name = _only_text(self)
        if name is not None and isinstance(key, str) and key in dict.__getitem__(self, name):
            misreads.other(f"`in` looks for a field of this name; the text is in the field {name!r}")
        return False

    def get(self, key: Any, default: Any = None) -> Any:
        if dict.__contains__(self, key):
            misreads.found(key)
            return dict.__getitem__(self, key)
        if isinstance(key, str):
            misreads.absent(key, _missing, self)
        return default

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


class Given(Record):
    """The argument of the program: what it does not have was left out by the caller."""

    __slots__ = ()

    get = dict.get  # type: ignore[assignment]
    __contains__ = dict.__contains__


class Contents(list[Any]):
    """The contents of a resource: a list, with MCP's own names beside it."""

    __slots__ = ()

    @property
    def contents(self) -> "Contents":
        return self

    @property
    def text(self) -> str:
        """The text of the only one."""
        if len(self) != 1:
            raise AttributeError(f"the resource has {len(self)} contents; write `[content.text for content in result]`")
        return self[0].text  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


Contents.__module__, Contents.__name__, Contents.__qualname__ = "builtins", "list", "list"

# What `type(result)` shows.
for _class in (Record, Given):
    _class.__module__ = "builtins"
    _class.__name__ = _class.__qualname__ = "Record"


# Members of MCP's own results, which a program that calls `tools` does not see.
_OF_RAW_RESULTS = frozenset(["content", "structuredContent", "isError", "result", "text"])
_UNWRAPPED = "; the result is unwrapped already, `tools.server.tool.raw(...)` gives the CallToolResult"


def _missing(record: dict[Any, Any], name: str) -> str:
    text = _only_text(record)
    if text is not None and (name in _OF_TEXTS or name in _OF_RAW_RESULTS):
        return f"{_absent(record, name)}; the text is in the field {text!r}"
    return _absent(record, name) + (_UNWRAPPED if name in _OF_RAW_RESULTS else "")


# Methods of texts that no field is called by.
_OF_TEXTS = frozenset(name for name in vars(str) if name[:1] != "_") - {"index", "count", "format", "title"}


def _only_text(record: dict[Any, Any]) -> str | None:
    """The field of an object that has one field, a text: what many servers wrap a text in."""
    if len(record) != 1:
        return None
    name, value = next(iter(record.items()))
    return name if isinstance(name, str) and isinstance(value, str) else None


def text_in(value: Any) -> str | None:
    """The text of such an object, or of a resource that is one text."""
    if isinstance(value, Contents) and len(value) == 1 and isinstance(value[0], Record):
        text = value[0].get("text")
        return text if isinstance(text, str) else None
    name = _only_text(value) if isinstance(value, Record) else None
    return dict.__getitem__(value, name) if name is not None else None


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
