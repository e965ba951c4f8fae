"""An MCP server that writes each call to a file, and the file to the disk, before it answers.

Started with the path of that file. All its tools do the same; `read` and `claim` declare that they only read. They take an `id`,
and `wait_ms`, the time from the entry in the file to the answer. While there is a file with the same path and the ending
`.hold-TOOL`, calls of that tool are recorded and not answered. Calls are answered beside each other.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "wait_ms": {"type": "integer"}},
    "required": ["id"],
}
HINTS = {"write": {}, "read": {"readOnlyHint": True}, "claim": {"readOnlyHint": True}}


def result_of(tool: str, id: str) -> Message:
    """What a call answers."""
    return {"content": [], "structuredContent": {"done": f"{tool} {id}"}}


class Server:
    """One process of the server."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.writing = threading.Lock()

    def send(self, message: Message) -> None:
        """Writes one message."""
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self.writing:
            try:
                sys.stdout.write(line)
                sys.stdout.flush()
            except OSError:
                # The gateway was killed.
                os._exit(0)

    def call(self, request: Message) -> None:
        """Records a call in the order of arrival; its answer follows when it is due."""
        params = request["params"]
        tool, arguments = params["name"], params["arguments"]
        record = json.dumps({"tool": tool, "arguments": arguments}) + "\n"
        os.write(self.file, record.encode())
        os.fsync(self.file)
        answer = {"id": request["id"], "result": result_of(tool, arguments["id"])}
        hold = Path(f"{self.path}.hold-{tool}")
        wait_s = arguments.get("wait_ms", 0) / 1000
        threading.Thread(target=self.answer_when_due, args=(hold, wait_s, answer), daemon=True).start()

    def answer_when_due(self, hold: Path, wait_s: float, answer: Message) -> None:
        """Sends the answer of a call."""
        time.sleep(wait_s)
        while hold.exists():
            time.sleep(0.005)
        self.send(answer)

    def receive(self, request: Message) -> None:
        """Answers a request other than a call at once."""
        match request["method"]:
            case "initialize":
                info = {"name": "recording", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
                self.send({"id": request["id"], "result": result})
            case "tools/list":
                tools = [
                    {"name": name, "description": f"Does {name}.", "inputSchema": SCHEMA, "annotations": hints}
                    for name, hints in HINTS.items()
                ]
                self.send({"id": request["id"], "result": {"tools": tools}})
            case "tools/call":
                self.call(request)
            case "ping":
                self.send({"id": request["id"], "result": {}})
            case _:
                self.send({"id": request["id"], "error": {"code": -32601, "message": "no such method"}})

    def run(self) -> None:
        """Serves until standard input ends."""
        for line in sys.stdin:
            request = json.loads(line)
            if "method" in request and "id" in request:
                self.receive(request)


if __name__ == "__main__":
    Server(sys.argv[1]).run()
