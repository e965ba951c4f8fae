"""Parts of a fake server: tools with schemas, and the kinds of results that a tool can return.

A result is a `CallToolResult` as it goes over the wire, so the reference interpreter's shim and the stdio
server give programs the same thing.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Json = Any
Result = dict[str, Any]
Handler = Callable[[dict[str, Any]], Result]

# Key of a result with the duration of the tool. It never leaves this directory.
SECONDS = "_seconds"


def structured(value: dict[str, Json]) -> Result:
    """Structured content with its text beside it, as the protocol asks."""
    return {**text(json.dumps(value, ensure_ascii=False)), "structuredContent": value}


def json_text(value: Json) -> Result:
    """JSON in a text block and nothing else, as most servers send it."""
    return text(json.dumps(value, ensure_ascii=False))


def text(*texts: str) -> Result:
    """One text block for each text."""
    return blocks({"type": "text", "text": each} for each in texts)


def blocks(content: Iterable[dict[str, Json]]) -> Result:
    """Content blocks as they are."""
    return {"content": list(content)}


def nothing() -> Result:
    """A tool with an empty result."""
    return blocks([])


def failed(message: str) -> Result:
    """A tool that ran and failed."""
    return {**text(message), "isError": True}


def slow(seconds: float, result: Result) -> Result:
    """A result that takes its time."""
    return {**result, SECONDS: seconds}


@dataclass(frozen=True)
class Tool:
    """One tool and the function behind it."""

    name: str
    description: str
    parameters: dict[str, dict[str, Json]]
    required: tuple[str, ...]
    handler: Handler
    # JSON Schema of the structured content, when the tool declares one.
    output: dict[str, Json] | None
    read_only: bool

    def definition(self) -> dict[str, Json]:
        """Its entry in `tools/list`."""
        schema = {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.required),
            "additionalProperties": False,
        }
        declared = {} if self.output is None else {"outputSchema": self.output}
        hints = {"readOnlyHint": self.read_only, "destructiveHint": False}
        named = {"name": self.name, "description": self.description}
        return {**named, "inputSchema": schema, **declared, "annotations": hints}


@dataclass
class Server:
    """A server with its tools, in the order they were added."""

    name: str
    description: str
    tools: dict[str, Tool] = field(default_factory=dict)

    def tool(
        self,
        name: str,
        description: str,
        *,
        output: dict[str, Json] | None = None,
        read: bool = True,
        **parameters: str,
    ) -> Callable[[Handler], Handler]:
        """Adds a tool. A parameter is `name="type"`; `?` behind the type makes it optional, `a|b` an enumeration of texts."""
        required = tuple(key for key, kind in parameters.items() if not kind.endswith("?"))
        properties = {key: _schema(kind.removesuffix("?")) for key, kind in parameters.items()}

        def add(handler: Handler) -> Handler:
            self.tools[name] = Tool(name, description, properties, required, handler, output, read)
            return handler

        return add


def _schema(kind: str) -> dict[str, Json]:
    if kind == "any":
        return {}
    if "|" in kind:
        return {"type": "string", "enum": kind.split("|")}
    if kind.endswith("[]"):
        return {"type": "array", "items": _schema(kind.removesuffix("[]"))}
    return {"type": kind}


# An object of no declared shape, for tools that declare structured content without a shape.
OBJECT: dict[str, Json] = {"type": "object"}


def page_of(items: list[Json], page: int, size: int) -> tuple[list[Json], bool]:
    """One page of a list, from 1, and whether more follow."""
    start = (page - 1) * size
    return items[start : start + size], start + size < len(items)
