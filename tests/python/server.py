"""Serves one server of the world as an MCP server on stdio: `python3 server.py NAME`.

JSON-RPC by hand on the standard library. Calls run side by side: a tool that takes its time holds up no other.
"""

import json
import sys
import threading
from typing import Any

import world
from toolkit import Server

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602


class Refused(Exception):
    """A request that gets a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Stdio:
    """One server and the client at the other end of the pipes."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._writing = threading.Lock()

    def serve(self) -> None:
        """Answers until standard input ends."""
        for line in sys.stdin:
            if line.strip():
                self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message or "id" not in message:
            return
        try:
            seconds, result = self._answer(message["method"], message.get("params") or {})
        except Refused as refused:
            self._send({"id": message["id"], "error": {"code": refused.code, "message": str(refused)}})
            return
        answer = {"id": message["id"], "result": result}
        if seconds == 0:
            self._send(answer)
            return
        timer = threading.Timer(seconds, self._send, [answer])
        timer.daemon = True
        timer.start()

    def _answer(self, method: str, params: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        match method:
            case "initialize":
                return 0, self._initialize(params)
            case "ping":
                return 0, {}
            case "tools/list":
                return 0, {"tools": [tool.definition() for tool in self._server.tools.values()]}
            case "tools/call" if params.get("name") in self._server.tools:
                return world.call(self._server.tools[params["name"]], params.get("arguments") or {})
            case "tools/call":
                raise Refused(INVALID_PARAMS, f"unknown tool: {params.get('name')}")
            case _:
                raise Refused(METHOD_NOT_FOUND, f"method not found: {method}")

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self._server.name, "version": "1.0.0"},
            "instructions": self._server.description,
        }

    def _send(self, message: dict[str, Any]) -> None:
        with self._writing:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    Stdio(world.MAKERS[sys.argv[1]]()).serve()
