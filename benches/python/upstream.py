"""The upstream the benchmark calls: an MCP server on standard input and output, as small as can be.

Usage: `upstream.py BIG_FILE`. Tools, all of them reads with `structuredContent`:

- `get`: 1 KB of JSON, the same for every `i`;
- `all`: the content of BIG_FILE, a JSON object;
- `measure`: memory of every process below our parent, the gateway, while the caller waits.

Results are JSON text from the start, so that our own encoder is not what is measured.
"""

import json
import sys
from pathlib import Path
from typing import Any

import processes

ITEM = {"name": "item number 7", "tags": ["a", "b"], "active": True, "score": 0.5, "note": "lorem ipsum dolor sit"}
KILOBYTE = json.dumps({"items": [{"id": i, **ITEM} for i in range(9)]})
TOOLS = [
    {
        "name": name,
        "description": f"{name} of the benchmark",
        "annotations": {"readOnlyHint": True},
        "inputSchema": {"type": "object", "properties": {"i": {"type": "integer"}}},
    }
    for name in ("get", "all", "measure")
]


def structured(content: str) -> str:
    return f'{{"content":[],"structuredContent":{content}}}'


def answer(method: str, params: dict[str, Any], big: str) -> str:
    """The result of one request as JSON text. What the benchmark does not use is a `KeyError`."""
    match method, params.get("name"):
        case "initialize", _:
            server = {"name": "bench", "version": "1"}
            version = params["protocolVersion"]
            return json.dumps({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server})
        case "ping", _:
            return "{}"
        case "tools/list", _:
            return json.dumps({"tools": TOOLS})
        case "tools/call", "get":
            return structured(KILOBYTE)
        case "tools/call", "all":
            return structured(big)
        case "tools/call", "measure":
            return structured(json.dumps({"processes": processes.below_parent()}))
    raise KeyError(method)


def main() -> None:
    big = Path(sys.argv[1]).read_text()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        try:
            outcome = f'"result":{answer(request["method"], request.get("params") or {}, big)}'
        except KeyError:
            outcome = '"error":{"code":-32601,"message":"not a method or tool of the benchmark"}'
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},{outcome}}}\n')
        sys.stdout.flush()


if __name__ == "__main__":
    main()
