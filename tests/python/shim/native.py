"""The present names: `tools`, `call_tool`, `search`, `describe`, `servers`, `store`."""

from typing import Any

from shim.calls import Host, fold, raw, value_of
from toolkit import Tool


class _Tool:
    def __init__(self, host: Host, server: str, name: str) -> None:
        self._host, self._server, self._name = host, server, name

    def __call__(self, arguments: dict[str, Any] | None = None, /, **more: Any) -> Any:
        return self._host.call(self._server, self._name, {**(arguments or {}), **more}, value_of)

    def raw(self, arguments: dict[str, Any] | None = None, /, **more: Any) -> Any:
        return self._host.call(self._server, self._name, {**(arguments or {}), **more}, raw)


class _Server:
    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name

    def __getattr__(self, name: str) -> _Tool:
        return _Tool(self._host, self._name, name)

    __getitem__ = __getattr__


class _Tools:
    def __init__(self, host: Host) -> None:
        self._host = host

    def __getattr__(self, name: str) -> _Server:
        return _Server(self._host, name)

    __getitem__ = __getattr__


class _Store:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._kept: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        return self._host.later(lambda: self._host.record(self._kept.get(key)))

    def set(self, key: str, value: Any) -> Any:
        self._kept[key] = value
        return self._host.later(lambda: None)


def entry(server: str, tool: Tool) -> dict[str, Any]:
    """One tool as `search` and `describe` show it; the engine adds its signature and effect."""
    made = {"name": f"mcp__{server}__{tool.name}", "server": server, "tool": tool.name, "description": tool.description}
    schema = tool.definition()["inputSchema"]
    declared = {} if tool.output is None else {"outputSchema": tool.output}
    return {**made, "inputSchema": schema, "parameters": schema, **declared}


def entries(host: Host) -> list[dict[str, Any]]:
    """Every tool of every server."""
    return [
        host.record(entry(name, tool)) for name in host.world.names() for tool in host.world.server(name).tools.values()
    ]


def matching(host: Host, query: str) -> list[dict[str, Any]]:
    """Tools that share words with a query, best first."""
    words = {fold(word) for word in query.split()}
    scored = [
        (sum(word in fold(f"{each['name']} {each['description']}") for word in words), each) for each in entries(host)
    ]
    return [each for score, each in sorted(scored, key=lambda pair: -pair[0]) if score]


def native_names(host: Host) -> dict[str, Any]:
    """The globals."""

    def call_tool(name: str, args: dict[str, Any] | None = None, **more: Any) -> Any:
        return host.call(None, name, {**(args or {}), **more}, value_of)

    async def acall_tool(name: str, args: dict[str, Any] | None = None, **more: Any) -> Any:
        return await call_tool(name, args, **more)

    def search(query: str, limit: int = 10) -> Any:
        return host.later(lambda: matching(host, query)[:limit])

    def describe(server: str, tool: str | None = None) -> Any:
        if tool is not None:
            return host.later(lambda: host.record(entry(*host.tool(server, tool))))
        named = host.server_name(server)
        listed = [entry(named, each) for each in host.world.server(named).tools.values()]
        return host.later(lambda: host.record({"server": named, "tools": listed}))

    def servers() -> Any:
        listed = [{"name": name, "tools": len(host.world.server(name).tools)} for name in host.world.names()]
        return host.later(lambda: host.record(listed))

    mine = {
        "call_tool": call_tool,
        "acall_tool": acall_tool,
        "search": search,
        "describe": describe,
        "servers": servers,
    }
    return {"tools": _Tools(host), "store": _Store(host), **mine}
