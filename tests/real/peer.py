"""Raw JSON-RPC over the pipes of a gateway, without a client library."""

import itertools
import json
import subprocess
import threading
from typing import Any, Self

from gateway import MODERN_REVISION
from world import LIMBECK, PATIENCE_S, World

CLIENT = {"name": "by-hand", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN_REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}


class Peer:
    """A `limbeck serve` in a session of its own, and every line it wrote to standard output.

    Threads may share one.
    """

    def __init__(self, world: World, era: str, *args: str, **environment: str) -> None:
        self.world = world
        self.era = era
        self.lines: list[str] = []
        self._answers: dict[int, list[dict[str, Any]]] = {}
        self._changed = threading.Condition()
        self._ids = itertools.count(1)
        self._writing = threading.Lock()
        self._is_leaving = False
        with world.log.open("a") as log:
            self.process = subprocess.Popen(
                [LIMBECK, "serve", *args],
                env=world.environment(**environment),
                cwd=world.project,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def pid(self) -> int:
        """The gateway's process, which leads its session."""
        return self.process.pid

    def handshake(self) -> None:
        """Opens the connection the way the era does."""
        if self.era == "modern":
            result = self.ask("server/discover", {})
            assert MODERN_REVISION in result["supportedVersions"], result
            return
        asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
        result = self.ask("initialize", asked)
        assert result["serverInfo"]["name"] == "limbeck", result
        self.notify("notifications/initialized", {})

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Sends a request and gives its id."""
        id = next(self._ids)
        self._write({"id": id, "method": method, "params": self._params(params)})
        return id

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Sends a notification."""
        self._write({"method": method, "params": self._params(params)})

    def answers(self, id: int) -> list[dict[str, Any]]:
        """Every answer to a request so far."""
        with self._changed:
            return list(self._answers.get(id, []))

    def wait(self, id: int) -> dict[str, Any]:
        """The first answer to a request."""
        with self._changed:
            answered = self._changed.wait_for(lambda: id in self._answers, PATIENCE_S)
            assert answered, f"request {id} was not answered within {PATIENCE_S} s"
            return self._answers[id][0]

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request that succeeds."""
        answer = self.wait(self.send(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def execute(self, code: str, **more: Any) -> dict[str, Any]:
        """The envelope of a program."""
        result = self.ask("tools/call", {"name": "execute", "arguments": {"code": code, **more}})
        return json.loads(result["content"][0]["text"])

    def close(self) -> int:
        """Closes standard input and gives the exit code, every line of output read."""
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert not self._reader.is_alive(), "standard output was not closed"
        return code

    def _params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "_meta": META} if self.era == "modern" else params

    def write_line(self, line: str) -> None:
        """Writes one line as it is."""
        self.write(line + "\n")

    def write(self, text: str) -> None:
        """Writes text as it is, whether it ends a line or not."""
        with self._writing:
            self.process.stdin.write(text)
            self.process.stdin.flush()

    def hang_up(self) -> None:
        """Disconnects abruptly: closes both pipes."""
        # A reader that waits for a line keeps the pipe open after it is closed; one last answer ends the wait.
        self._is_leaving = True
        self.send("ping", {})
        self._reader.join(PATIENCE_S)
        assert not self._reader.is_alive(), "the last line was not answered"
        self.process.stdout.close()
        self.process.stdin.close()

    def _write(self, message: dict[str, Any]) -> None:
        self.write_line(json.dumps({"jsonrpc": "2.0", **message}))

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)
            self._take(line)
            if self._is_leaving:
                return

    def _take(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict) or "method" in message or "id" not in message:
            return
        with self._changed:
            self._answers.setdefault(message["id"], []).append(message)
            self._changed.notify_all()
