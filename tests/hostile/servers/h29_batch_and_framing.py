"""Frames its answers in every way but one line each; the name of the tool selects the way."""

import json
import time
from typing import Any

from base import Message, Server, send, text, tool, write

WAYS = ("batch", "lsp", "padded", "glued", "paused", "zeros", "empty_lines", "split", "request_first")


class Framing(Server):
    """One tool for each way."""

    def tools(self) -> list[Any]:
        return [tool(way) for way in WAYS]

    def call(self, request: Message) -> None:
        id = request["id"]
        result = {"resultType": "complete", **text("framed")}
        answer = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        match request["params"]["name"]:
            case "batch":
                write(b"[%b,%b]\n" % (answer, answer))
            case "lsp":
                write(b"Content-Length: %d\r\n\r\n%b" % (len(answer), answer))
            case "padded":
                write(b"   \t%b\r\n" % answer)
            case "glued":
                write(b"%b%b\n" % (answer, answer))
            case "paused":
                half = len(answer) // 2
                write(answer[:half])
                time.sleep(1)
                write(answer[half:] + b"\n")
            case "zeros":
                write(b"%b\0%b\0" % (answer, answer))
            case "empty_lines":
                write(b"\n" * 10_000 + answer + b"\n")
            case "split":
                write(answer[:20] + b"\n" + answer[20:] + b"\n")
            case "request_first":
                send({"jsonrpc": "2.0", "id": id, "method": "ping"})
                write(answer + b"\n")


Framing().run()
