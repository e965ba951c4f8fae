"""`servers`: what servers are there, and what each offers besides tools.

`servers()` lists them, `servers.name.resources` and `servers.name.prompts` read what one offers. Each call
may be awaited or not, as calls of tools may.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from . import calls, host, jsontext, tools, values
from .catalog import require_text
from .lazy import is_call, resolved
from .record import Contents

_print = jsontext.printer(None)
_put = object.__setattr__


def _read(server: str, label: str, method: str, params: str = "{}", convert: calls.Convert | None = None) -> Any:
    body = f'{{"server":{_print(server)},"method":{_print(method)},"params":{params}}}'
    return tools.answer(calls.start(host.READ, "", body, label, convert))


def _contents(value: Any) -> Any:
    return Contents(value) if isinstance(value, list) else value


class _Offer:
    """One kind of thing that a server offers."""

    __slots__ = ("_server", "_label")

    def __init__(self, server: str, label: str) -> None:
        self._server, self._label = server, label

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{self._label} is not called; write {self._label}.list()")

    def __repr__(self) -> str:
        return f"[{self._label}]"


class Resources(_Offer):
    """What a server lets be read by its address."""

    __slots__ = ()

    def list(self) -> Any:
        """All of them: `[{"uri", "name", "mimeType", ...}]`."""
        return _read(self._server, f"{self._label}.list", "resources/list")

    def templates(self) -> Any:
        """Patterns of addresses: `[{"uriTemplate", "name", ...}]`."""
        return _read(self._server, f"{self._label}.templates", "resources/templates/list")

    def read(self, uri: str) -> Any:
        """What is there: `[{"uri", "mimeType", "text" or "blob"}]`, also as `.contents`; `.text` of a single text."""
        label = f"{self._label}.read"
        return _read(self._server, label, "resources/read", _print({"uri": require_text(uri, label)}), _contents)


class Prompts(_Offer):
    """Texts that a server makes for a model."""

    __slots__ = ()

    def list(self) -> Any:
        """All of them: `[{"name", "description", "arguments"}]`."""
        return _read(self._server, f"{self._label}.list", "prompts/list")

    def get(self, name: str, arguments: Any = None, /, **named: Any) -> Any:
        """One of them, filled in: `{"description", "messages"}`."""
        label = f"{self._label}.get"
        params = f'{{"name":{_print(require_text(name, label))}'
        given = resolved(arguments) if is_call(arguments) else arguments
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{label} takes a dict of arguments or keywords; got a {type(given).__name__}")
        filled = {**(given or {}), **named}
        if filled:
            try:
                params += f',"arguments":{values.encode_arguments(filled)}'
            except values.NoJson as error:
                raise TypeError(f"{label}: {error}") from None
        return _read(self._server, label, "prompts/get", params + "}")


class Offers:
    """One server."""

    __slots__ = ("_label", "resources", "prompts")

    _label: str
    resources: Resources
    prompts: Prompts

    def __init__(self, label: str, server: str) -> None:
        _put(self, "_label", label)
        _put(self, "resources", Resources(server, f"{label}.resources"))
        _put(self, "prompts", Prompts(server, f"{label}.prompts"))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self._label} cannot be changed")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self._label} has `resources` and `prompts`; its tools are `{self._label.replace('servers', 'tools', 1)}`"
        )

    def __repr__(self) -> str:
        return f"[{self._label}]"


class Servers(tools.Directory):
    """Every server by its name; called, it lists them with their state."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("servers", tools.server_names, Offers)

    def __call__(self) -> Any:
        """`[{"name", "tools", "state", "description"}]`."""
        return tools.answer(calls.start(host.SERVERS, "", "{}", "servers"))
