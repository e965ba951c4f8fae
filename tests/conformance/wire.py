"""Raw MCP messages over standard input and HTTP, so that both transports receive exactly the same ones."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

Message = dict[str, Any]

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PATIENCE_S = 30
INITIALIZE = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "1"},
}


class Client(Protocol):
    """One connection."""

    def ask(self, method: str, params: Message) -> Message:
        """The answer to a request: its `result` or its `error`."""


def with_meta(era: str, params: Message) -> Message:
    """`params` as a client of `era` sends them."""
    if era == LEGACY:
        return params
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    }
    return {**params, "_meta": meta}


class Stdio:
    """A process that is spoken to line by line."""

    def __init__(self, process: subprocess.Popen[str], answering: Callable[[Message], Message] | None = None) -> None:
        self.process, self.answering = process, answering
        self.id = 0

    def send(self, message: Message) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Message) -> Message:
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                if message.get("id") == self.id:
                    return message
            elif "id" in message:
                assert self.answering is not None, f"no answer to {message}"
                self.send({"id": message["id"], "result": self.answering(message)})
        raise AssertionError(f"no answer to {method}")


class Http:
    """An address that is posted to."""

    def __init__(self, address: str, era: str) -> None:
        self.address, self.era = address, era
        self.headers: dict[str, str] = {}
        self.id = 0

    def post(self, message: Message) -> Message | None:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self.headers,
        }
        if self.era == MODERN:
            headers["MCP-Protocol-Version"] = MODERN
            headers["Mcp-Method"] = message["method"]
            name = message["params"].get("name") or message["params"].get("uri")
            if name and message["method"] in ("tools/call", "prompts/get", "resources/read"):
                headers["Mcp-Name"] = name
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        request = urllib.request.Request(self.address, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                if "Mcp-Session-Id" in answer.headers:
                    self.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
                    self.headers["MCP-Protocol-Version"] = LEGACY
                return answer_of(answer, message.get("id"))
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def ask(self, method: str, params: Message) -> Message:
        self.id += 1
        answer = self.post({"id": self.id, "method": method, "params": params})
        assert answer is not None, f"no answer to {method}"
        return answer


def answer_of(answer: Any, id: int | None) -> Message | None:
    """The message with `id`, of a JSON body or an event stream."""
    if "text/event-stream" not in answer.headers.get("Content-Type", ""):
        body = answer.read()
        return json.loads(body) if body else None
    for line in answer:
        if line.startswith(b"data:") and line[5:].strip():
            message = json.loads(line[5:])
            if message.get("id") == id and "method" not in message:
                return message
    return None


@contextmanager
def stdio(
    era: str,
    *command: str,
    answering: Callable[[Message], Message] | None = None,
    environment: dict[str, str] | None = None,
) -> Iterator[Stdio]:
    """A connection to a process; `answering` fills in the forms it asks for."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        client = Stdio(process, answering)
        if era == LEGACY:
            capabilities = {"elicitation": {"form": {}}} if answering else {}
            client.ask("initialize", INITIALIZE | {"capabilities": capabilities})
            client.send({"method": "notifications/initialized"})
        yield client
    finally:
        process.stdin.close()
        process.wait(10)


def http(era: str, address: str) -> Http:
    """A connection to an address."""
    client = Http(address, era)
    if era == LEGACY:
        client.ask("initialize", INITIALIZE)
        client.post({"method": "notifications/initialized", "params": {}})
    return client
