"""`tools`: every server and tool by its name."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from keyword import iskeyword
from typing import Any, NoReturn

from . import calls, host, jsontext, values
from .errors import tool_error
from .lazy import Call, is_call, resolved

_print_names = jsontext.printer(None)


def head_of(server: str | None, tool: str, form: str) -> str:
    """The target of a call as JSON; without a server, `tool` is a full name."""
    if server is None:
        return _print_names({"tool": tool, "form": form})
    return _print_names({"server": server, "tool": tool, "form": form})


def member(label: str, name: str) -> str:
    """How a program would write the member of a directory."""
    if name.isascii() and name.isidentifier() and not iskeyword(name):
        return f"{label}.{name}"
    return f"{label}[{_print_names(name)}]"


def arguments_of(label: str, positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call from one object, or keywords, or both.

    A keyword that Python reserves may be written with an underscore behind it, as in `from_="a"`.
    """
    given: Any = positional[0] if positional else None
    if is_call(given):
        given = resolved(given)
    if dataclasses.is_dataclass(given) or hasattr(type(given), "model_dump"):
        given = values.render(given)
    if len(positional) > 1 or not (given is None or isinstance(given, Mapping)):
        got = f"{len(positional)} arguments" if len(positional) > 1 else f"a {type(given).__name__}"
        raise TypeError(f"{label} takes keywords or one dict, such as {label}(name=value); got {got}")
    arguments = dict(given) if given else {}
    for name, value in named.items():
        arguments[name[:-1] if name.endswith("_") and iskeyword(name[:-1]) else name] = value
    return arguments


def body_of(label: str, arguments: Any) -> str:
    """JSON text of a call's arguments. Raises TypeError that names the place of what has none."""
    try:
        return values.encode_arguments(arguments)
    except values.NoJson as error:
        raise TypeError(f"{label}: {error}") from None


def answer(pending: calls.Pending) -> Any:
    """The answer itself in a program that waits for each call; otherwise a `Call` for it."""
    return pending.result() if calls.is_blocking() else Call(pending)


def send(
    label: str, head: str, arguments: dict[str, Any], convert: calls.Convert | None = None,
    refuse: calls.Refuse = tool_error,
) -> calls.Pending:  # fmt: skip
    """Sends a call of a tool."""
    return calls.start(host.TOOL, head, body_of(label, arguments), label, convert, refuse)


class Tool:
    """One tool: `tools.server.tool(a=1)` or `tools.server.tool({"a": 1})`."""

    __slots__ = ("_server", "_tool", "_label", "_head")

    def __init__(self, server: str | None, tool: str, label: str, form: str = "value") -> None:
        self._server, self._tool, self._label = server, tool, label
        self._head = head_of(server, tool, form)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return answer(send(self._label, self._head, arguments_of(self._label, args, kwargs)))

    @property
    def raw(self) -> "Tool":
        """The same tool, answering with the whole CallToolResult and never raising for `isError`."""
        return Tool(self._server, self._tool, f"{self._label}.raw", "raw")

    @property
    def __name__(self) -> str:
        return self._tool

    def __getattr__(self, name: str) -> NoReturn:
        if _is_special(name):
            raise AttributeError(name)
        raise AttributeError(f"{self._label} is a tool and has no {name!r}; call it: {self._label}(...)")

    def __getitem__(self, name: object) -> NoReturn:
        raise TypeError(f"{self._label} is a tool; call it first: {self._label}(...)[{name!r}]")

    def __await__(self) -> NoReturn:
        raise TypeError(f"{self._label} is a tool that was not called; write `await {self._label}(...)`")

    def __repr__(self) -> str:
        return f"[{self._label}]"


class Directory:
    """Names with something behind each; any name may be tried, the gateway knows better."""

    __slots__ = ("_label", "_made", "_names", "_make")

    _label: str
    _made: dict[str, Any]
    _names: Callable[[], list[str]]
    _make: Callable[[str, str], Any]

    def __init__(self, label: str, names: Callable[[], list[str]], make: Callable[[str, str], Any]) -> None:
        _put(self, "_label", label)
        _put(self, "_made", {})
        _put(self, "_names", names)
        _put(self, "_make", make)

    def __getattr__(self, name: str) -> Any:
        made = self._made.get(name)
        if made is not None:
            return made
        if _is_special(name):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"{self._label}[...] takes a name; got a {type(name).__name__}")
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(member(self._label, name), name)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self._label} cannot be changed")

    __delattr__ = __setitem__ = __delitem__ = __setattr__  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __dir__(self) -> list[str]:
        return self._names()

    def __repr__(self) -> str:
        names = ", ".join(self._names())
        return f"[{self._label}: {names}]" if names else f"[{self._label}]"


_put = object.__setattr__


class Server(Directory):
    """One server: its tools by their names. A name that is not a server's may be a tool's; then it can be called."""

    __slots__ = ("_server",)

    def __init__(self, label: str, server: str) -> None:
        _put(self, "_server", server)
        super().__init__(label, lambda: listed_tools(server), lambda made, tool: Tool(server, tool, made))

    def __bool__(self) -> bool:
        return _is_server(self._server)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _is_server(self._server):
            raise TypeError(f"{self._label} is a server; call one of its tools: {self._label}.tool(...)")
        # The gateway knows which server has the tool.
        return Tool(None, self._server, self._label)(*args, **kwargs)


class Tools(Directory):
    """Every server by its name."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("tools", server_names, _member_of_tools)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("`tools` is called by server and tool: tools.server.tool(...)")


# Names under which the clients of other systems call a tool by its name.
_BY_NAME = ("call", "call_tool", "callTool", "invoke")


def _member_of_tools(label: str, name: str) -> Any:
    if _is_server(name):
        return Server(label, name)
    if name in _BY_NAME:
        return _by_name(label)
    if name.startswith("mcp__") or "." in name or "/" in name:
        return Tool(None, name, label)
    return Server(label, name)


def full_name(name: str) -> Tool:
    """The tool of a name such as `mcp__server__tool`."""
    return Tool(None, name, name)


def _by_name(label: str) -> Callable[..., Any]:
    def call(name: str, *rest: Any, **named: Any) -> Any:
        """Calls a tool: `(server, tool, arguments)` or `(full_name, arguments)`."""
        if not isinstance(name, str):
            raise TypeError(f"{label} takes the names of a server and a tool and a dict; got a {type(name).__name__}")
        # MCP's own client takes `call_tool(name, arguments=...)`.
        wrapped = named.pop("arguments", None) if isinstance(named.get("arguments"), Mapping) and not rest[1:] else None
        if rest and isinstance(rest[0], str):
            return Tool(name, rest[0], label)(*(rest[1:] or (wrapped,)), **named)
        return Tool(None, name, label)(*(rest or (wrapped,)), **named)

    call.__name__ = call.__qualname__ = label
    return call


def _folded(name: str) -> str:
    """A name without separators, in lower case: what all its styles have in common."""
    return "".join(part for part in name if part not in "-_. /").lower()


def _is_server(name: str) -> bool:
    return name in _servers or _folded(name) in map(_folded, _servers)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


_servers: dict[str, list[str]] = {}
# How the lists of servers were cut, by their names.
_incomplete: dict[str, str] = {}


def set_servers(servers: Any) -> None:
    """Takes the servers of this execution, in the host's order: `name`, `tools`, names or a count, and `incomplete`."""
    _servers.clear()
    _incomplete.clear()
    for server in servers if isinstance(servers, list) else []:
        tools = server.get("tools")
        _servers[server["name"]] = list(tools) if isinstance(tools, list) else []
        if isinstance(server.get("incomplete"), str):
            _incomplete[server["name"]] = server["incomplete"]


def server_names() -> list[str]:
    """Names of the servers, in the host's order."""
    return list(_servers)


def known_tools(server: str) -> list[str]:
    """Names of a server's tools, as far as the start listed them."""
    return list(_servers.get(server, ()))


def listed_tools(server: str) -> list[str]:
    """The same for a program that lists them; one warning says when they are not all."""
    warn_of_cuts(server)
    return known_tools(server)


def warn_of_cuts(only: str | None = None) -> None:
    """Warns of every server whose list was cut, or of one."""
    for server, incomplete in _incomplete.items():
        if only is None or server == only:
            warn_of_cut(server, incomplete)


def warn_of_cut(server: str, incomplete: str) -> None:
    """Warns that the list of a server's tools was cut: what a program looks for may be in the rest."""
    host.warn(f"not all tools of server `{server}` are listed: {incomplete}")


def target_of(value: Any) -> tuple[str | None, str | None] | None:
    """Server and tool of a part of `tools`; None for any other value."""
    if isinstance(value, Tool):
        return value._server, value._tool
    if isinstance(value, Server):
        return value._server, None
    return None


def call_tool(name: str, /, args: Any = None, *more: Any, **kwargs: Any) -> Any:
    """Calls a tool by its full name (`mcp__server__tool` or `server.tool`), or by server and tool.

    `call_tool("server.tool", {"a": 1})`, `call_tool("server.tool", a=1)`, `call_tool("server", "tool", {"a": 1})`.
    """
    label = f"call_tool({name!r})"
    if not isinstance(name, str):
        raise TypeError(f"call_tool takes the name of a tool first; got a {type(name).__name__}")
    if isinstance(args, str):
        server: str | None = name
        tool = args
        arguments = arguments_of(label, more, kwargs)
    else:
        server, tool = (None, name) if name.startswith("mcp__") else split_name(name)
        arguments = arguments_of(label, (args, *more), kwargs)
    return answer(send(label, head_of(server, tool, "value"), arguments))


async def acall_tool(name: str, /, args: Any = None, *more: Any, **kwargs: Any) -> Any:
    """`call_tool` as a coroutine function."""
    answered = call_tool(name, args, *more, **kwargs)
    return await answered if is_call(answered) else answered


def split_name(name: str) -> tuple[str | None, str]:
    """Server and tool of `server.tool` or `mcp__server__tool`; no server where there is no separator."""
    if name.startswith("mcp__"):
        server, separator, tool = name[5:].partition("__")
        return (server, tool) if separator and server else (None, name)
    known = [server for server in _servers if name.startswith(f"{server}.")]
    if known:
        server = max(known, key=len)
        return server, name[len(server) + 1 :]
    server, separator, tool = name.partition(".")
    return (server, tool) if separator and server else (None, name)
