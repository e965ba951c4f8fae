"""A provider of models on this machine, with the formats of Anthropic, Gemini and OpenAI, distinguished by their paths."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Provider:
    """Answers each question with its last message in capitals, as a stream, and keeps what it was sent."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                provider.requests.append((self.path, headers, body))
                events = provider.events(self.path, body)
                text = "".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                """Nothing is logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @staticmethod
    def events(path: str, body: dict[str, Any]) -> list[Any]:
        """The answer to a request."""
        if "GenerateContent" in path:
            text = body["contents"][-1]["parts"][0]["text"].upper()
            usage = {"promptTokenCount": 10, "candidatesTokenCount": 5}
            candidate = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
            return [{"candidates": [candidate], "usageMetadata": usage}]
        text = body["messages"][-1]["content"].upper()
        if path.endswith("/messages"):
            return [
                {"type": "message_start", "message": {"model": body["model"], "usage": {"input_tokens": 10}}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"},
            ]
        return [
            {"model": body["model"], "choices": [{"delta": {"content": text}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
            "[DONE]",
        ]

    def close(self) -> None:
        """Stops it."""
        self._server.shutdown()
