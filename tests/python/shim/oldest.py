"""The names of the first of the two earlier systems: tools by full name, results as text."""

import json
from typing import Any

from shim.calls import Host, Record, ToolError, texts_of
from shim.native import entries, entry, matching
from toolkit import Tool


class JsonText(str):
    """A text that holds JSON and can be used as what it holds."""

    def _held(self) -> Any:
        return json.loads(self, object_pairs_hook=Record)

    def __getitem__(self, key: Any) -> Any:
        return self._held()[key] if isinstance(key, str) else super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held(), name)


def first_text(server: str, tool: Tool, result: dict[str, Any]) -> Any:
    """The first text of a result, or the whole result without one."""
    texts = texts_of({"content": result["content"][:1]})
    if not texts or not texts[0]:
        return result
    try:
        held = json.loads(texts[0])
    except ValueError:
        return texts[0]
    return JsonText(texts[0]) if isinstance(held, (dict, list)) else texts[0]


def oldest_names(host: Host) -> dict[str, Any]:
    """The globals."""

    def call_mcp_tool(tool_name: str, params: dict[str, Any] | None = None) -> Any:
        return host.call(None, tool_name, params or {}, first_text)

    def discover_mcp_tools(search_terms: list[str] | None = None) -> Any:
        words = [word.lower() for word in search_terms or []]
        found = [
            each
            for each in entries(host)
            if not words or any(word in f"{each['name']} {each['description']}".lower() for word in words)
        ]
        return host.later(lambda: found)

    def get_tool_schema(tool_name: str) -> Any:
        try:
            found = host.record(entry(*host.tool(None, tool_name)))
        except ToolError:
            found = None
        return host.later(lambda: found)

    def search_tools(query: str, limit: int = 10) -> Any:
        return host.later(lambda: matching(host, query)[:limit])

    return {
        "call_mcp_tool": call_mcp_tool,
        "discover_mcp_tools": discover_mcp_tools,
        "get_tool_schema": get_tool_schema,
        "search_tools": search_tools,
    }
