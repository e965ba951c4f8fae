"""Common parts of the hostile servers on HTTP; not hostile by itself.

Listens on a free port of 127.0.0.1 and prints it on a line of its own. A request that no subclass spoils is answered
as a polite server of either era does. `HOSTILE_SCALE` and `HOSTILE_MAX_SECONDS` are as in `base`.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from base import MAX_SECONDS, MODERN, Message, text, tool

Headers = dict[str, str]
BODY_BYTES_MAX = 64 << 20


class Handler(BaseHTTPRequestHandler):
    """Answers politely."""

    protocol_version = "HTTP/1.1"
    server_version = "hostile"

    def log_message(self, *_: object) -> None:
        """Standard error is for what the tests read."""

    @property
    def base(self) -> str:
        """Our own origin."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def body(self) -> bytes:
        """What was sent."""
        return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), BODY_BYTES_MAX))

    def reply(self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        """Sends an answer; `_` in a header's name means `-`."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reply_json(self, value: Any, status: int = 200, **headers: str) -> None:
        """Sends a value."""
        self.reply(status, json.dumps(value).encode(), **headers)

    def polite(self, request: Message, words: str = "ok", **headers: str) -> None:
        """Answers a request of the protocol as it should be."""
        if "id" not in request:
            return self.reply(202)
        result = {"resultType": "complete", **self.result(request, words)}
        self.reply_json({"jsonrpc": "2.0", "id": request["id"], "result": result}, **headers)

    def result(self, request: Message, words: str) -> Message:
        """The result of a request."""
        info = {"name": "http-hostile", "version": "1"}
        match request["method"]:
            case "initialize":
                return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            case "server/discover":
                about = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": info}
                return {**about, "ttlMs": 0, "cacheScope": "private"}
            case "tools/list":
                return {"tools": [tool("fetch", "Fetches.")], "ttlMs": 0, "cacheScope": "private"}
            case _:
                return text(words)


def serve(handler: type[Handler]) -> None:
    """Serves until the time is up."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        print(server.server_address[1], flush=True)
        watchdog = threading.Timer(MAX_SECONDS, os._exit, [0])
        watchdog.daemon = True
        watchdog.start()
        server.serve_forever()
