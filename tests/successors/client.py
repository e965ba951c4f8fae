"""A client over standard input and output that checks every line it reads."""

import itertools
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
LIMBECK = Path(os.environ.get("LIMBECK_BIN", REPOSITORY / "target/debug/limbeck"))

# Longest wait for an answer; reached only when no answer comes.
PATIENCE_S = 50.0


def until(holds: Callable[[], bool]) -> None:
    """Waits until a condition holds; fails the test when it does not in the longest wait."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.05)


class Client:
    """One connection. Threads may share it."""

    def __init__(self, process: subprocess.Popen[str], root: Path) -> None:
        self.process = process
        self.root = root
        self._ids = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self.not_protocol: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                is_protocol = message["jsonrpc"] == "2.0"
            except (ValueError, KeyError, TypeError):
                is_protocol = False
            with self._changed:
                if not is_protocol:
                    self.not_protocol.append(line)
                elif "id" in message:
                    self._answers[message["id"]] = message
                self._changed.notify_all()

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Sends a request and gives its id."""
        number = next(self._ids)
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with self._writing:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        """The whole answer to a request."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: number in self._answers, PATIENCE_S)
            assert arrived, "no answer"
            return self._answers.pop(number)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request; fails the test on an error."""
        answer = self.answer(self.send(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The error of a request; fails the test on a result."""
        answer = self.answer(self.send(method, params))
        assert "error" in answer, answer
        return answer["error"]

    def open(self) -> None:
        """Makes the handshake of revision 2025-06-18, which all three systems spoke."""
        info = {"name": "successors", "version": "1"}
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.ask("initialize", asked)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}})

    def tools(self) -> dict[str, dict[str, Any]]:
        """The listed tools by name."""
        return {tool["name"]: tool for tool in self.ask("tools/list", {})["tools"]}

    def start(self, tool: str, /, **arguments: Any) -> int:
        """Sends a call and gives its id."""
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, /, **arguments: Any) -> "Result":
        """Calls a tool."""
        return Result(self.ask("tools/call", {"name": tool, "arguments": arguments}))

    def log(self) -> str:
        """What the gateway wrote to standard error."""
        return (self.root / "stderr").read_text()

    def close(self) -> None:
        """Ends the gateway as a client does."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()


class Result:
    """Result of a call."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.is_error: bool = raw.get("isError", False)
        self.text: str = raw["content"][0]["text"]

    @property
    def json(self) -> Any:
        """The text as JSON."""
        return json.loads(self.text)

    @property
    def structured(self) -> dict[str, Any]:
        """Its structured content; fails the test when it is absent."""
        assert "structuredContent" in self.raw, self.raw
        return self.raw["structuredContent"]

    @property
    def output(self) -> str:
        """What a program of S0 printed; fails the test when it failed."""
        assert self.structured["success"], self.raw
        return self.structured["output"]
