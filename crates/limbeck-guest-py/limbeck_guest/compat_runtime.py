"""`mcp.runtime` and its relatives: the functions of the earlier system that ran Python in a container.

A program finds them as `from mcp import runtime`, `import mcp.runtime as runtime` or as `runtime`; servers
as `mcp_<alias>`, `mcp_servers[name]` and `mcp.servers.<alias>`. A result is the CallToolResult as a dict,
whose other keys and attributes are those of the value in it.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from . import calls, host, jsontext, skills, tools
from .aliases import aliases, tool_alias
from .catalog import require_text
from .errors import MCPError, mcp_error
from .ready import ReadyList, ReadyRecord, ReadyText, ReadyTuple
from .record import Record

SEARCH_LIMIT_MAX = 20

_print = jsontext.printer(None)


class ToolResult(Record):
    """A CallToolResult. A key that it does not have is looked up in the value it carries."""

    __slots__ = ()

    def __missing__(self, key: Any) -> Any:
        value = _value_of(self)
        if isinstance(value, (dict, list)):
            try:
                return value[key]
            except (IndexError, TypeError):
                pass
        raise KeyError(key)


def _value_of(result: Record) -> Any:
    structured = dict.get(result, "structuredContent")
    if structured is not None:
        return structured
    content = dict.get(result, "content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        text = content[0].get("text")
        if isinstance(text, str):
            return jsontext.try_decode(text)
    return None


def _result(value: Any) -> Any:
    return ToolResult(value) if isinstance(value, dict) else value


# --- servers and tools ---


def server_by_alias() -> dict[str, str]:
    """The servers' names by their aliases."""
    return aliases(tools.server_names())


def _alias_of_server(name: str) -> str:
    return next((alias for alias, known in server_by_alias().items() if known == name), name)


def _server_name(name: Any, label: str) -> str:
    """A server's own name from its name or its alias."""
    text = require_text(name, label)
    if text in tools.server_names():
        return text
    return server_by_alias().get(text, text)


_listings: dict[str, list[Any]] = {}


def _listing(server: str) -> list[Any]:
    """Every tool of a server with its whole definition, asked for once."""
    if server not in _listings:
        body = _print({"server": server, "detail": "full"})
        pending = calls.start(host.DESCRIBE, "", body, f"list_tools({server!r})", refuse=mcp_error)
        listing = pending.result() or {}
        if isinstance(listing.get("incomplete"), str):
            tools.warn_of_cut(server, listing["incomplete"])
        _listings[server] = list(listing.get("tools") or [])
    return _listings[server]


def _tool_names(server: str) -> dict[str, Any]:
    """The tools' entries by their aliases."""
    entries = {entry["tool"]: entry for entry in _listing(server)}
    return {alias: entries[name] for alias, name in aliases(entries, tool_alias).items()}


# --- what `runtime` has ---


def discovered_servers(detailed: bool = False) -> ReadyTuple:
    """Names of all servers, or `{"name", "description"}` of each."""
    if not detailed:
        return ReadyTuple(tools.server_names())
    found = calls.ask(host.SERVERS, "{}", "discovered_servers")
    return ReadyTuple(
        Record(name=server.get("name"), description=server.get("description") or "") for server in found
    )


def list_servers() -> ReadyTuple:
    """Names of the servers whose tools can be called."""
    return ReadyTuple(tools.server_names())


def list_tools(server: str) -> ReadyList:
    """The tools of a server as the server describes them."""
    name = _server_name(server, "list_tools")
    return ReadyList(
        Record(name=entry["tool"], description=entry.get("description") or "", inputSchema=entry.get("inputSchema"))
        for entry in _listing(name)
    )


def list_tools_sync(server: str | None = None) -> ReadyTuple:
    """The tools of a server as `{"name", "alias", "description", "input_schema"}`."""
    names = [_server_name(server, "list_tools_sync")] if server is not None else tools.server_names()
    return ReadyTuple(tool for name in names for tool in _tool_metadata(name))


def _tool_metadata(server: str) -> list[Record]:
    return [
        Record(
            name=entry["tool"], alias=alias, description=entry.get("description") or "",
            input_schema=entry.get("inputSchema"),
        )
        for alias, entry in _tool_names(server).items()
    ]  # fmt: skip


def call_tool(server: str, tool: str, arguments: Any = None, /, **named: Any) -> Any:
    """Calls a tool; gives the CallToolResult and does not raise for its `isError`."""
    name = _server_name(server, "runtime.call_tool")
    label = f"runtime.call_tool({name!r}, {tool!r})"
    return _call(label, name, require_text(tool, label), tools.arguments_of(label, (arguments,), named))


def _call_tool(*args: Any, **kwargs: Any) -> Any:
    """`call_tool` with its parameters also by name, as long as the tool has none of that name."""
    given = list(args)
    for name in ("server", "tool", "arguments")[len(given) :]:
        if name not in kwargs:
            break
        given.append(kwargs.pop(name))
    return call_tool(*given, **kwargs)


_call_tool.__name__ = _call_tool.__qualname__ = "call_tool"


def _call_alias(label: str, server: str, alias: str, arguments: dict[str, Any]) -> Any:
    """Calls a tool by its alias, which is the first tool's where several have it."""
    if alias.rpartition("_")[2].isdecimal():
        # The gateway counts.
        return _call(label, server, alias, arguments)
    # The start lists no tool of a server that was never connected.
    known = tools.known_tools(server) or [entry["tool"] for entry in _listing(server)]
    taken = [name for name in known if tool_alias(name) == alias]
    return _call(label, server, taken[0] if len(taken) > 1 and alias not in taken else alias, arguments)


def _call(label: str, server: str, tool: str, arguments: dict[str, Any]) -> Any:
    return tools.answer(tools.send(label, tools.head_of(server, tool, "raw"), arguments, _result, mcp_error))


def query_tool_docs(server: str, tool: str | None = None, detail: str = "summary") -> Any:
    """What a server's tools are for: a list, or one dict when `tool` names one."""
    found = query_tool_docs_sync(server, tool, detail)
    return ReadyRecord(found[0]) if tool is not None else found


def query_tool_docs_sync(server: str, tool: str | None = None, detail: str = "summary") -> ReadyList:
    """The same, always as a list."""
    name = _server_name(server, "query_tool_docs")
    by_alias = _tool_names(name)
    if tool is None:
        return ReadyList(_doc(name, alias, entry, detail) for alias, entry in by_alias.items())
    wanted = require_text(tool, "query_tool_docs").lower()
    for alias, entry in by_alias.items():
        if wanted in (alias.lower(), entry["tool"].lower()):
            return ReadyList([_doc(name, alias, entry, detail)])
    raise MCPError(f"server `{name}` has no tool `{tool}`", {"code": "unknown_tool", "server": name, "tool": tool})


def search_tool_docs(query: str, *, limit: int = 5, detail: str = "summary") -> ReadyList:
    """Tools of any server that match the query, best first; 1 to 20 of them."""
    tools.warn_of_cuts()
    body = {"query": require_text(query, "search_tool_docs"), "limit": min(max(1, int(limit)), SEARCH_LIMIT_MAX)}
    found = calls.ask(host.SEARCH, _print(body), "search_tool_docs")
    return ReadyList(_doc(entry["server"], tool_alias(entry["tool"]), entry, detail) for entry in found)


def _doc(server: str, alias: str, entry: Any, detail: str) -> Record:
    doc = Record(server=server, serverAlias=_alias_of_server(server), tool=entry["tool"], toolAlias=alias)
    if entry.get("description"):
        doc["description"] = entry["description"]
    if isinstance(detail, str) and detail.lower() == "full":
        doc["inputSchema"] = entry.get("inputSchema")
    return doc


def describe_server(name: str) -> ReadyRecord:
    """One server: `{"name", "alias", "tools", "cwd"}`."""
    server = _server_name(name, "describe_server")
    if server not in tools.server_names():
        known = ", ".join(tools.server_names()) or "none"
        raise MCPError(f"server {name!r} is not available; there are: {known}", {"code": "unknown_server"})
    return ReadyRecord(name=server, alias=_alias_of_server(server), tools=_tool_metadata(server), cwd=None)


def list_loaded_server_metadata() -> ReadyTuple:
    """All servers in that form; one whose tools cannot be listed has none."""
    return ReadyTuple(map(_metadata_if_listed, tools.server_names()))


def _metadata_if_listed(server: str) -> Record:
    try:
        return describe_server(server)
    except MCPError:
        return Record(name=server, alias=_alias_of_server(server), tools=[], cwd=None)


def capability_summary() -> ReadyText:
    """What a program can do here, in one paragraph."""
    names = ", ".join(tools.server_names()) or "none"
    return ReadyText(
        "A Python program calls tools of MCP servers and gives back what it returns or prints. "
        f"Servers: {names}. Call a tool with `await mcp_<server>.<tool>(name=value)` or "
        "`await runtime.call_tool(server, tool, {...})`; find one with `runtime.search_tool_docs(query)`, read its "
        "parameters with `runtime.query_tool_docs(server, tool, detail='full')`. There is no network, no process and "
        "no file outside of /tmp and /workspace."
    )


# --- `mcp_<alias>` and `mcp_servers` ---


class ServerProxy:
    """One server: `await proxy.tool(name=value)`."""

    __slots__ = ("_server", "_alias")

    def __init__(self, server: str, alias: str) -> None:
        self._server, self._alias = server, alias

    def list_tools(self) -> ReadyList:
        """The tools as the server describes them."""
        return list_tools(self._server)

    def __getattr__(self, name: str) -> "ToolProxy":
        if name.startswith("__"):
            raise AttributeError(name)
        return ToolProxy(self._server, name, f"mcp_{self._alias}.{name}", call=_call_alias)

    def __getitem__(self, name: str) -> "ToolProxy":
        return ToolProxy(self._server, name, f"mcp_{self._alias}[{name!r}]")

    def __dir__(self) -> list[str]:
        return ["list_tools", *tools.listed_tools(self._server)]

    def __repr__(self) -> str:
        return f"[mcp_{self._alias}]"


class ToolProxy:
    """One tool of such a server."""

    def __init__(
        self, server: str, tool: str, label: str, doc: str | None = None, call: Callable[..., Any] = _call
    ) -> None:
        self._server, self._tool, self._label, self.__doc__, self._call = server, tool, label, doc, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = tools.arguments_of(self._label, args, kwargs)
        return self._call(self._label, self._server, self._tool, arguments)

    @property
    def __name__(self) -> str:
        return self._tool

    def __repr__(self) -> str:
        return f"[{self._label}]"


class Servers(dict[str, ServerProxy]):
    """`mcp_servers`: proxies by the servers' names and, where they differ, by their aliases."""

    def __missing__(self, name: str) -> ServerProxy:
        proxy = self[name] = ServerProxy(_server_name(name, "mcp_servers"), name)
        return proxy


def globals_for(text: str) -> dict[str, Any]:
    """Names that depend on the servers, where the text of the program has a use for them."""
    names: dict[str, Any] = {}
    if "mcp_" in text:
        by_alias = server_by_alias()
        names["mcp_servers"] = Servers({server: ServerProxy(server, alias) for alias, server in by_alias.items()})
        names.update((f"mcp_{alias}", ServerProxy(server, alias)) for alias, server in by_alias.items())
    if "LOADED_MCP_SERVERS" in text:
        names["LOADED_MCP_SERVERS"] = _RUNTIME.LOADED_MCP_SERVERS = tuple(tools.server_names())
    return names


# --- modules ---


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    module = ModuleType(name, "Tools of MCP servers.")
    vars(module).update(members)
    module.__package__ = name.rpartition(".")[0] or name
    return module


_RUNTIME = _module("mcp.runtime", {
    "discovered_servers": discovered_servers, "list_servers": list_servers, "list_servers_sync": list_servers,
    "list_tools": list_tools, "list_tools_sync": list_tools_sync, "call_tool": _call_tool,
    "query_tool_docs": query_tool_docs, "query_tool_docs_sync": query_tool_docs_sync,
    "search_tool_docs": search_tool_docs, "search_tool_docs_sync": search_tool_docs,
    "describe_server": describe_server, "list_loaded_server_metadata": list_loaded_server_metadata,
    "capability_summary": capability_summary, "MCPError": MCPError, "save_tool": skills.save_tool,
})  # fmt: skip


class _ServerModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `mcp.servers.<alias>` when it is imported: one function for each tool."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, alias = fullname.rpartition(".")
        if package != "mcp.servers" or _server_name(alias, "import") not in tools.server_names():
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _module(spec.name, {})

    def exec_module(self, module: ModuleType) -> None:
        alias = module.__name__.rpartition(".")[2]
        server = _server_name(alias, "import")
        entries = _tool_names(server)
        functions = {
            name: ToolProxy(server, entry["tool"], f"{alias}.{name}", entry.get("description"))
            for name, entry in entries.items()
        }
        listed = {
            "TOOLS": tuple(_tool_metadata(server)),
            "TOOL_MAP": {name: entry["tool"] for name, entry in entries.items()},
        }
        vars(module).update(functions, **listed, __all__=[*functions, *listed])


class _GeneratedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `mcp_<server>`, which another earlier system wrote to a file: functions, and a class with them as methods."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        alias = fullname.removeprefix("mcp_")
        if path is not None or alias == fullname or _server_name(alias, "import") not in tools.server_names():
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _module(spec.name, {})

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        of = _server_name(name.removeprefix("mcp_"), "import")
        server = tools.Server(name, of)

        def member(wanted: str) -> Any:
            if wanted == "__all__":
                return list(_tool_names(of))
            # The class had an address and a token for its arguments, which are not needed here.
            return (lambda *_, **__: server) if wanted.endswith("Client") else getattr(server, wanted)

        vars(module)["__getattr__"] = member


def _install() -> None:
    servers = _module("mcp.servers", {"__path__": []})
    package = _module("mcp", {"__path__": [], "runtime": _RUNTIME, "servers": servers, "MCPError": MCPError})
    sys.modules.update({"mcp": package, "mcp.runtime": _RUNTIME, "mcp.servers": servers})
    sys.meta_path.insert(0, _ServerModules())
    # Behind all others: a module of the standard library has none of these names.
    sys.meta_path.append(_GeneratedModules())


GLOBALS: dict[str, Any] = {"runtime": _RUNTIME, "save_tool": skills.save_tool, "save_skill": skills.save_tool}
_install()
