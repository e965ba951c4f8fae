"""Common parts of the hostile servers in this directory; not hostile by itself.

Lines of JSON-RPC on standard input and output, good enough for clients of every revision: `initialize`
for the legacy era, `server/discover` for the modern one. The environment tunes a server:

- `HOSTILE_SCALE` scales sizes and counts, 1 by default;
- `HOSTILE_ERA=legacy` refuses `server/discover`, so that a server that misbehaves in `initialize` is asked it;
- `HOSTILE_MAX_SECONDS` after so many seconds, 120 by default, every server ends by itself.
"""

import json
import os
import sys
import threading
from typing import Any

SCALE = float(os.environ.get("HOSTILE_SCALE", "1"))
MAX_SECONDS = float(os.environ.get("HOSTILE_MAX_SECONDS", "120"))
IS_LEGACY = os.environ.get("HOSTILE_ERA") == "legacy"

MODERN = "2026-07-28"
METHOD_NOT_FOUND = -32601

Message = dict[str, Any]

_writing = threading.Lock()


def scaled(number: float, least: int = 1) -> int:
    """A size or count at the scale of this run."""
    return max(least, int(number * SCALE))


def write(data: bytes) -> None:
    """Writes bytes unchanged; ends when the pipe is closed."""
    with _writing:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except (OSError, ValueError):
            os._exit(0)


def send(message: Message) -> None:
    """Writes a message on a line of its own; half characters go out as such."""
    write(json.dumps(message).encode("utf-8", "surrogatepass") + b"\n")


def tool(name: Any = "echo", description: str = "Returns its arguments.", **more: Any) -> Message:
    """A tool of a list, any object as its arguments unless `inputSchema` is given."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def text(words: str) -> Message:
    """A result of one text."""
    return {"content": [{"type": "text", "text": words}]}


def arguments(request: Message) -> Message:
    """The arguments of a call."""
    return request["params"].get("arguments") or {}


class Server:
    """A polite server. What is hostile overrides what it misbehaves in."""

    name = "hostile"

    def tools(self) -> list[Any]:
        """The tools, all on one page."""
        return [tool()]

    def capabilities(self) -> Any:
        """What the handshake declares."""
        return {"tools": {"listChanged": True}}

    def start(self) -> None:
        """Runs before the first line is read."""

    def end(self) -> None:
        """Runs when standard input has ended."""

    def initialize(self, request: Message) -> None:
        """Answers the handshake of the legacy era."""
        asked = request["params"]["protocolVersion"]
        info = {"name": self.name, "version": "1.0.0"}
        self.answer(
            request,
            {"protocolVersion": asked, "capabilities": self.capabilities(), "serverInfo": info},
        )

    def discover(self, request: Message) -> None:
        """Answers the handshake of the modern era."""
        info = {"name": self.name, "version": "1.0.0"}
        versions = [MODERN, "2025-11-25"]
        self.answer_cached(
            request,
            {"supportedVersions": versions, "capabilities": self.capabilities(), "serverInfo": info},
        )

    def list_tools(self, request: Message) -> None:
        """Answers `tools/list`."""
        self.answer_cached(request, {"tools": self.tools()})

    def call(self, request: Message) -> None:
        """Answers `tools/call`."""
        given = arguments(request)
        self.answer(request, {**text(json.dumps(given)), "structuredContent": given})

    def answer(self, request: Message, result: Message) -> None:
        """Sends a result."""
        result = {"resultType": "complete", **result}
        send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def answer_cached(self, request: Message, result: Message) -> None:
        """Sends a result with the cache hints the modern era asks for."""
        self.answer(request, {**result, "ttlMs": 0, "cacheScope": "private"})

    def refuse(self, request: Message, code: int, message: str) -> None:
        """Sends an error."""
        send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})

    def handle(self, request: Message) -> None:
        """Answers a request; what is not for us is dropped."""
        match request.get("method"):
            case "initialize":
                self.initialize(request)
            case "server/discover" if not IS_LEGACY:
                self.discover(request)
            case "tools/list":
                self.list_tools(request)
            case "tools/call":
                self.call(request)
            case "ping":
                self.answer(request, {})
            case str(method) if "id" in request and not method.startswith("notifications/"):
                self.refuse(request, METHOD_NOT_FOUND, "method not found")

    def run(self) -> None:
        """Serves until standard input ends or the time is up."""
        watchdog = threading.Timer(MAX_SECONDS, os._exit, [0])
        watchdog.daemon = True
        watchdog.start()
        self.start()
        for line in sys.stdin.buffer:
            if line.strip():
                self.handle(json.loads(line))
        self.end()
