"""Functions of the earlier system whose Python named a tool by its full name, `mcp__server__tool`.

`call_mcp_tool` gives the first text of a result as a string, and never raises for `isError`. The string
is more than one: where its text is a JSON object or list, its items and fields are the parsed value's.
"""

from typing import Any

from . import calls, catalog, host, jsontext, tools
from .errors import ToolError, full_name_error
from .lazy import is_call, resolved
from .ready import ReadyList
from .record import Record

_print = jsontext.printer(None)
_UNKNOWN = ("unknown_tool", "unknown_server")


class ResultText(str):
    """A tool's text. `text["key"]`, `text.key` and loops read the JSON in it; all else is the string's."""

    _parsed: Any = None

    def _value(self) -> Any:
        if self._parsed is None:
            self._parsed = jsontext.try_decode(str(self))
        return self._parsed

    def __getitem__(self, key: Any) -> Any:
        value = self._value()
        if value is None or isinstance(value, dict) and isinstance(key, (int, slice)):
            return str.__getitem__(self, key)
        return value[key]

    def __iter__(self) -> Any:
        value = self._value()
        return str.__iter__(self) if value is None else iter(value)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        value = self._value()
        if value is None:
            raise AttributeError(f"the tool returned text that is not JSON, so it has no field {name!r}")
        return getattr(value, name)

    def __reduce__(self) -> Any:
        return str, (str(self),)


def first_text(result: Any) -> Any:
    """The first text block of a CallToolResult; the result itself when it is not a CallToolResult."""
    content = result.get("content") if isinstance(result, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    if isinstance(first, dict) and first.get("type") == "text" and isinstance(first.get("text"), str) and first["text"]:
        return ResultText(first["text"])
    return result


def unwrapped(result: Any) -> Any:
    """One text block as JSON where it is JSON, one other block as it is, several as a list."""
    blocks = result.get("content") if isinstance(result, dict) else None
    if not isinstance(blocks, list):
        return result
    if len(blocks) != 1:
        return blocks
    block = blocks[0]
    if not (isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)):
        return block
    try:
        return jsontext.decode(block["text"])
    except (ValueError, RecursionError):
        return block["text"]


def call_mcp_tool(tool_name: str, params: Any = None, arguments: Any = None, **named: Any) -> Any:
    """Calls a tool: `call_mcp_tool("mcp__server__tool", {...})` or `call_mcp_tool("server", "tool", {...})`."""
    name = catalog.require_text(tool_name, "call_mcp_tool")
    label = f"call_mcp_tool({name!r})"
    if isinstance(params, str):
        head = tools.head_of(name, params, "raw")
        given = tools.arguments_of(label, (arguments,), named)

        def refuse(details: dict[str, Any]) -> ToolError:
            return ToolError(f"MCP call failed ({name}/{params}): {details.get('message')}", details)

        return tools.answer(tools.send(label, head, given, unwrapped, refuse))
    given = tools.arguments_of(label, (params if arguments is None else arguments,), named)
    server, tool = (None, name) if name.startswith("mcp__") else tools.split_name(name)
    return tools.answer(tools.send(label, tools.head_of(server, tool, "raw"), given, first_text, full_name_error))


def tool_schema(found: Any) -> Record:
    """One tool as `{"name", "description", "parameters", ...}`, from what the gateway says of it."""
    schema = found.get("inputSchema") or found.get("parameters")
    entry = Record(found)
    entry["description"] = found.get("description") or ""
    entry["parameters"] = entry["inputSchema"] = schema
    return entry


def get_tool_schema(tool_name: str, tool: str | None = None) -> Any:
    """One tool by its full name, or by server and tool; None for an unknown tool."""
    name = catalog.require_text(tool_name, "get_tool_schema")
    # Of a full name the gateway finds where the name of the server ends.
    body = _print({"tool": name} if tool is None else {"server": name, "tool": tool})
    pending = calls.start(host.DESCRIBE, "", body, "get_tool_schema", tool_schema, recover=none_when_unknown)
    return tools.answer(pending)


def none_when_unknown(error: ToolError) -> None:
    """What a question after something that does not exist comes to."""
    if error.code not in _UNKNOWN:
        raise error


def search_tools(query: str, limit: int = 10) -> ReadyList:
    """Tools that match the query, best first."""
    body = {"query": catalog.require_text(query, "search_tools"), "limit": max(0, int(limit))}
    tools.warn_of_cuts()
    found = calls.ask(host.SEARCH, _print(body), "search_tools") if body["limit"] else []
    return ReadyList(tool_schema(entry) for entry in found)


def discover_mcp_tools(search_terms: Any = None) -> ReadyList:
    """Every tool; with words, those whose name or description has one of them."""
    if is_call(search_terms):
        search_terms = resolved(search_terms)
    if isinstance(search_terms, dict):
        search_terms = search_terms.get("search")
    asked = search_terms.split() if isinstance(search_terms, str) else list(search_terms or ())
    words = [str(word).lower() for word in asked]
    pending = [
        calls.start(host.DESCRIBE, "", _print({"server": server, "detail": "full"}), "discover_mcp_tools", recover=_nothing)
        for server in tools.server_names()
    ]
    found = ReadyList()
    for listing in pending:
        answer = listing.result() or {}
        if isinstance(answer.get("incomplete"), str):
            tools.warn_of_cut(answer["server"], answer["incomplete"])
        for entry in answer.get("tools") or []:
            text = f"{entry.get('name')} {entry.get('description')}".lower()
            if not words or any(word in text for word in words):
                found.append(tool_schema(entry))
    return found


def _nothing(error: ToolError) -> None:
    """A server that cannot be listed has no tools to show."""


GLOBALS: dict[str, Any] = {
    "call_mcp_tool": call_mcp_tool,
    "discover_mcp_tools": discover_mcp_tools,
    "get_tool_schema": get_tool_schema,
    "search_tools": search_tools,
}
