"""An MCP server of revision 2025-11-25 that sends requests, progress and list changes during its calls.

Written without a library, so that a test sees exactly what a gateway makes of it. Calls are answered one
after the other.
"""

import json
import sys
import time
from typing import Any

Message = dict[str, Any]

RESOURCE = "note://today"
SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 1}},
    "required": ["age"],
}
# A server of more than five tools is not listed directly any more if its entry has `auto`.
GROWN = 6


def send(message: Message) -> None:
    """Writes one message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def notify(method: str, params: Message | None = None) -> None:
    """Sends a notification."""
    send({"method": method, "params": params or {}})


class Server:
    """State of the server, and the messages it received."""

    def __init__(self) -> None:
        self.grown = 0
        self.subscribed: set[str] = set()

    def tools(self) -> list[Message]:
        """Those that a test uses, and others when it has grown."""
        names = ["ask", "work", "grow", "touch", *(f"more_{number}" for number in range(self.grown))]
        return [{"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}} for name in names]

    def ask(self) -> str:
        """Asks the client for a form, and gives what came back as text."""
        send({"id": "form", "method": "elicitation/create", "params": {"message": "How old?", "requestedSchema": SCHEMA}})
        for line in sys.stdin:
            answer = json.loads(line)
            if answer.get("id") == "form":
                return json.dumps(answer.get("result", {"error": answer.get("error")}))
        return "no client"

    def work(self, request: Message) -> str:
        """Reports twice before it is done."""
        token = request["params"].get("_meta", {}).get("progressToken")
        for step in (1, 2):
            if token is not None:
                progress = {"progressToken": token, "progress": step, "total": 2, "message": f"step {step}"}
                notify("notifications/progress", progress)
            # The gateway forwards progress at a bounded rate.
            time.sleep(0.3)
        return "worked"

    def call(self, request: Message) -> Message:
        """The result of a call."""
        match request["params"]["name"]:
            case "ask":
                words = self.ask()
            case "work":
                words = self.work(request)
            case "grow":
                self.grown = GROWN
                notify("notifications/tools/list_changed")
                words = "grown"
            case "touch":
                for uri in sorted(self.subscribed):
                    notify("notifications/resources/updated", {"uri": uri})
                words = " ".join(sorted(self.subscribed))
            case other:
                words = other
        return {"content": [{"type": "text", "text": words}]}

    def answer(self, request: Message) -> Message | None:
        """The result of a request; nothing for one that is not known."""
        params = request.get("params") or {}
        match request["method"]:
            case "initialize":
                capabilities = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
                info = {"name": "talking", "version": "1"}
                return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
            case "tools/list":
                return {"tools": self.tools()}
            case "tools/call":
                return self.call(request)
            case "resources/list":
                return {"resources": [{"uri": RESOURCE, "name": "today"}]}
            case "resources/read":
                return {"contents": [{"uri": params["uri"], "text": "a note"}]}
            case "resources/subscribe":
                self.subscribed.add(params["uri"])
                return {}
            case "resources/unsubscribe":
                self.subscribed.discard(params["uri"])
                return {}
            case "ping":
                return {}
        return None

    def run(self) -> None:
        """Serves until standard input ends."""
        for line in sys.stdin:
            request = json.loads(line)
            if "method" not in request or "id" not in request:
                continue
            result = self.answer(request)
            unknown = {"error": {"code": -32601, "message": "no such method"}}
            send({"id": request["id"], **(unknown if result is None else {"result": result})})


Server().run()
