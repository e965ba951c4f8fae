"""A fake model server: it implements enough of Anthropic's Messages API for one scripted turn of Claude Code.

The first request that offers the tool is answered with one call of it, every other with a word. What it was sent is
kept: that, and nothing else, is what a model would have read.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LAST_WORD = "DONE"
TOOL_USE_ID = "toolu_scripted"

Block = dict[str, Any]


@dataclass
class Model:
    """The script, and what was asked so far."""

    tool: str
    arguments: dict[str, Any]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, request: dict[str, Any]) -> Block:
        """The one content block of the answer."""
        self.requests.append(request)
        offered = any(tool.get("name") == self.tool for tool in request.get("tools", []))
        if offered and self.result_in(request) is None:
            return {"type": "tool_use", "id": TOOL_USE_ID, "name": self.tool, "input": self.arguments}
        return {"type": "text", "text": LAST_WORD}

    @staticmethod
    def result_in(request: dict[str, Any]) -> Block | None:
        """The result of our call, when the request has it."""
        contents = [message["content"] for message in request.get("messages", [])]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        return next((block for block in blocks if block.get("tool_use_id") == TOOL_USE_ID), None)

    @property
    def offered(self) -> dict[str, Any]:
        """The request that offered the tool."""
        return next(
            request
            for request in self.requests
            if any(tool.get("name") == self.tool for tool in request.get("tools", []))
        )

    @property
    def result(self) -> str:
        """What the model read of the call's result."""
        block = next(filter(None, map(self.result_in, self.requests)))
        content = block["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    """Serves a model on a port of its own, in `model.url`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Keeps the test's output free of requests."""

        def do_HEAD(self) -> None:
            self.send("application/json", b"")

        def do_GET(self) -> None:
            self.send("application/json", b"{}", 404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path.partition("?")[0].endswith("count_tokens"):
                self.send("application/json", b'{"input_tokens":10}')
                return
            block = model.answer(body)
            if body.get("stream"):
                self.send("text/event-stream", streamed(body["model"], block))
            else:
                self.send("application/json", json.dumps(message(body["model"], [block])).encode())

        def send(self, kind: str, body: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield model
        server.shutdown()


def message(model: str, content: list[Block]) -> dict[str, Any]:
    """A whole message of the assistant."""
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason(content),
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def stop_reason(content: list[Block]) -> str | None:
    """Why a message ends; one that has only begun does not."""
    if not content:
        return None
    return "tool_use" if content[0]["type"] == "tool_use" else "end_turn"


def streamed(model: str, block: Block) -> bytes:
    """The message of one block, as events."""
    if block["type"] == "tool_use":
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        begun = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    end = {"stop_reason": stop_reason([block]), "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message(model, [])},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
