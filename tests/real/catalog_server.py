"""An MCP server with the tools of one captured list; it answers no call.

Started with the path of a JSON file `{"instructions"?, "tools"}`. Written without a library, so that forty
of them start in a second.
"""

import json
import sys
from typing import Any

METHOD_NOT_FOUND = -32601


def answer(method: str, params: dict[str, Any], catalog: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request, or nothing for a method that is not known here."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "catalogue", "version": "1"},
            "instructions": catalog.get("instructions") or "",
        }
    if method == "tools/list":
        return {"tools": catalog["tools"]}
    return {} if method == "ping" else None


def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        catalog = json.load(file)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {}, catalog)
        unknown = {"code": METHOD_NOT_FOUND, "message": "no such method"}
        outcome = {"error": unknown} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)


main(sys.argv[1])
