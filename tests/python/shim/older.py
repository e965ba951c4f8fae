"""The names of the second of the two earlier systems: `mcp.runtime`, a proxy and a module for each server."""

import json
import keyword
import re
from collections.abc import Callable
from typing import Any

from shim.calls import Host, Record, raw, texts_of
from shim.native import entries, matching
from toolkit import Tool

Doc = dict[str, Any]


class McpError(RuntimeError):
    """A call that did not reach its tool."""


class RawResult(Record):
    """A whole result that also answers for the value in it."""

    def _held(self) -> Any:
        if "structuredContent" in self:
            return self["structuredContent"]
        texts = texts_of(self)
        return json.loads(texts[0], object_pairs_hook=Record) if texts and len(texts) == 1 else {}

    def __missing__(self, key: Any) -> Any:
        return self._held()[key]


def alias(name: str) -> str:
    """A name as an identifier."""
    made = re.sub(r"[^a-z0-9]+", "_", name.lower())
    return f"_{made}" if made[0].isdigit() else made


def tool_alias(name: str) -> str:
    """Name of a tool as an identifier that is not a keyword."""
    made = alias(name)
    return f"{made}_" if keyword.iskeyword(made) else made


def _whole(server: str, tool: Tool, result: dict[str, Any]) -> RawResult:
    return RawResult(result)


class _Proxy:
    def __init__(self, host: Host, server: str) -> None:
        self._host, self._server = host, server

    def list_tools(self) -> Any:
        return self._host.later(lambda: definitions(self._host, self._server))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return caller(self._host, self._server, name)


def caller(host: Host, server: str, name: str) -> Callable[..., Any]:
    """A function that calls a tool by its alias or name."""
    tools = host.world.server(server).tools
    named = next((tool for tool in tools if tool_alias(tool) == name), name)
    return lambda **arguments: host.call(server, named, arguments, _whole)


def definitions(host: Host, server: str) -> list[Doc]:
    """The tools of a server as it lists them."""
    return [host.record(tool.definition()) for tool in host.world.server(host.server_name(server)).tools.values()]


def doc(each: Doc, detail: str) -> Doc:
    """One tool as the documentation functions show it."""
    full = {"inputSchema": each["inputSchema"]} if detail == "full" else {}
    names = {
        "server": each["server"],
        "serverAlias": alias(each["server"]),
        "tool": each["tool"],
        "toolAlias": tool_alias(each["tool"]),
    }
    return Record({**names, "description": each["description"], **full})


def runtime_members(host: Host) -> dict[str, Any]:
    """What `mcp.runtime` has."""

    def docs_of(server: str, tool: str | None, detail: str) -> list[Doc]:
        named = host.server_name(server)
        found = [doc(each, detail) for each in entries(host) if each["server"] == named]
        wanted = tool.lower() if tool else None
        return [each for each in found if wanted is None or wanted in (each["tool"].lower(), each["toolAlias"])]

    def query_tool_docs(server: str, tool: str | None = None, detail: str = "summary") -> Any:
        found = docs_of(server, tool, detail)
        return host.later(lambda: found[0] if tool else found)

    def query_tool_docs_sync(server: str, tool: str | None = None, detail: str = "summary") -> list[Doc]:
        return docs_of(server, tool, detail)

    def search_tool_docs_sync(query: str, *, limit: int = 5, detail: str = "summary") -> list[Doc]:
        return [doc(each, detail) for each in matching(host, query)[: max(1, min(limit, 20))]]

    def search_tool_docs(query: str, *, limit: int = 5, detail: str = "summary") -> Any:
        return host.later(lambda: search_tool_docs_sync(query, limit=limit, detail=detail))

    def discovered_servers(detailed: bool = False) -> Any:
        names = host.world.names()
        return (
            tuple({"name": name, "description": host.world.server(name).description} for name in names)
            if detailed
            else tuple(names)
        )

    def list_servers_sync() -> tuple[str, ...]:
        return tuple(host.world.names())

    def list_tools_sync(server: str) -> tuple[Doc, ...]:
        tools = definitions(host, server)
        return tuple(
            Record(
                name=tool["name"],
                alias=tool_alias(tool["name"]),
                description=tool["description"],
                input_schema=tool["inputSchema"],
            )
            for tool in tools
        )

    def describe_server(name: str) -> Doc:
        return Record(name=name, alias=alias(name), tools=list_tools_sync(name))

    def call_tool(server: str, tool: str, arguments: dict[str, Any] | None = None) -> Any:
        return host.call(server, tool, arguments or {}, raw)

    return {
        "MCPError": McpError,
        "call_tool": call_tool,
        "describe_server": describe_server,
        "discovered_servers": discovered_servers,
        "list_loaded_server_metadata": lambda: tuple(describe_server(name) for name in host.world.names()),
        "list_servers": lambda: host.later(list_servers_sync),
        "list_servers_sync": list_servers_sync,
        "list_tools": lambda server: host.later(lambda: definitions(host, server)),
        "list_tools_sync": list_tools_sync,
        "query_tool_docs": query_tool_docs,
        "query_tool_docs_sync": query_tool_docs_sync,
        "search_tool_docs": search_tool_docs,
        "search_tool_docs_sync": search_tool_docs_sync,
    }


def older_names(host: Host) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The globals, and the members of the modules that can be imported."""
    proxies = {name: _Proxy(host, name) for name in host.world.names()}
    modules: dict[str, dict[str, Any]] = {"mcp": {}, "mcp.runtime": runtime_members(host), "mcp.servers": {}}
    for name in host.world.names():
        functions = {tool_alias(tool): caller(host, name, tool) for tool in host.world.server(name).tools}
        listed = {
            "TOOLS": list(functions),
            "TOOL_MAP": {tool_alias(tool): tool for tool in host.world.server(name).tools},
        }
        modules[f"mcp.servers.{alias(name)}"] = {**functions, **listed}
    names = {f"mcp_{alias(name)}": proxy for name, proxy in proxies.items()}
    return {**names, "mcp_servers": proxies, "LOADED_MCP_SERVERS": tuple(proxies)}, modules
