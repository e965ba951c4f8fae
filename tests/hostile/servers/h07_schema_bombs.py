"""Describes its tools with schemas that are cyclic, remote, exponential, enormous, wrong or slow to match.
Argument: the port of a listener that must stay silent."""

import json
import sys
from typing import Any

from base import Message, Server, scaled, tool, write

BASE = f"http://127.0.0.1:{sys.argv[1]}"
# Placeholder of a schema deeper than `json.dumps` can write.
DEEP = "DEEP"


def exponential() -> Message:
    """Four ways to go at each of forty levels."""
    levels: Message = {"l0": {"type": "string"}}
    for level in range(1, 40):
        levels[f"l{level}"] = {"anyOf": [{"$ref": f"#/$defs/l{level - 1}"}] * 4}
    return {"$defs": levels, **of(x={"$ref": "#/$defs/l39"})}


def deep() -> str:
    """An object in an object in an object."""
    levels = scaled(20_000)
    return '{"type":"object","properties":{"a":' * levels + "{}" + "}}" * levels


def of(**properties: Any) -> Message:
    """A schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def mirrored(header: str) -> Message:
    """A text that is also to be sent as a header."""
    return {"type": "string", "x-mcp-header": header}


SCHEMAS: dict[str, Any] = {
    "self_ref": {"$ref": "#"},
    "ref_loop": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "remote_http": of(x={"$ref": f"{BASE}/schema.json"}),
    "remote_file": of(x={"$ref": "file:///etc/passwd"}),
    "remote_id": {"$id": f"{BASE}/", "$schema": f"{BASE}/meta", **of(x={"$ref": "other.json"})},
    "dynamic": {"$dynamicAnchor": "n", **of(c={"$dynamicRef": "#n"})},
    "exponential": exponential(),
    "deep": DEEP,
    "redos": of(x={"type": "string", "pattern": "^(a+)+$"}) | {"patternProperties": {"^(x+x+)+y$": {}}},
    "bad_regex": of(x={"pattern": "("}, y={"pattern": "a{1,1000000000}"}),
    "huge_enum": of(x={"enum": [f"v{n}" for n in range(scaled(500_000))]}),
    "many_props": of(**{f"p{n}": {"type": "string"} for n in range(scaled(100_000))}),
    "combinatoric": {
        "type": "object",
        "allOf": [{"oneOf": [{"required": [f"k{n}"]} for n in range(30)]}] * 200,
    },
    "numbers": of(x={"multipleOf": 1e-300, "minimum": 1e308, "maximum": -1e308, "maxLength": -1}),
    "null_schema": None,
    "true_schema": True,
    "false_schema": False,
    "string_schema": "object",
    "array_schema": [],
    "not_object": {"type": "string"},
    "type_list": {"type": ["object", "null", "object"]},
    "type_odd": {"type": "frobnicate"},
    "proto_props": of(__proto__={"type": "string"}, constructor={"type": "object"}) | {"required": ["__proto__"]},
    "defaults": of(x={"default": {"__proto__": {"polluted": True}}}),
    "header_line_break": of(x=mirrored("A\r\nX-Injected: 1")),
    "header_authorization": of(x=mirrored("Authorization")),
    "header_twice": of(x=mirrored("R"), y=mirrored("r")),
    "header_nested": of(x={"type": "array", "items": mirrored("Q")}),
}


class SchemaBombs(Server):
    """One tool is fine."""

    def list_tools(self, request: Message) -> None:
        tools = [tool(name, inputSchema=schema) for name, schema in SCHEMAS.items()]
        tools.append(tool("bad_output", outputSchema={"$ref": f"{BASE}/out.json"}))
        tools.append(tool("fine"))
        result = {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}
        line = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
        write(line.replace(f'"{DEEP}"', deep(), 1).encode() + b"\n")


SchemaBombs().run()
