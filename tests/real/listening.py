"""A `limbeck serve --http` on a free port, with one token."""

import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway import MODERN_REVISION
from peer import CLIENT, META
from processes import family, wait_until, wait_until_none_is_left
from world import LIMBECK, PATIENCE_S, World

TOKEN = "token-of-the-tests-0123456789abcdef0123456789abcdef"
LEGACY_REVISION = "2025-11-25"


@dataclass(frozen=True)
class Endpoint:
    """Where it listens."""

    world: World
    pid: int
    port: int

    @property
    def url(self) -> str:
        """The endpoint of the protocol."""
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def authorization(self) -> str:
        """What a client must send."""
        return f"Bearer {TOKEN}"

    def entry(self) -> dict[str, Any]:
        """The gateway as an entry of a client's configuration."""
        return {"type": "http", "url": self.url, "headers": {"Authorization": self.authorization}}


@contextmanager
def listening(world: World, config: Path) -> Iterator[Endpoint]:
    """Serves with one configuration file and nothing else, and ends on a signal."""
    tokens = world.root / "token"
    tokens.write_text(TOKEN)
    tokens.chmod(0o600)
    options = ["--http", "0", "--token-file", str(tokens), "--config", str(config), "--no-discover"]
    path = world.root / "listening.log"
    with path.open("w") as log:
        process = subprocess.Popen(
            [LIMBECK, "serve", *options],
            env=world.environment(),
            cwd=world.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_until(lambda: process.poll() is not None or bool(port_in(path)), "it prints its address")
        yield Endpoint(world, process.pid, int(port_in(path) or 0))
        before = family(process.pid, world.mark)
        process.terminate()
        assert process.wait(PATIENCE_S) == 0, path.read_text()
        wait_until_none_is_left(before, process.pid, world.mark)
    finally:
        process.kill()
        process.wait()


def port_in(log: Path) -> str | None:
    """The port in its output."""
    match = re.search(r"serving MCP at http://127\.0\.0\.1:(\d+)/mcp", log.read_text())
    return match and match[1]


@dataclass
class WebPeer:
    """JSON-RPC by hand over HTTP, like `peer.Peer` over pipes."""

    endpoint: Endpoint
    era: str
    session: str | None = None
    _sent: int = field(default=0)

    def handshake(self) -> None:
        """Opens the connection the way the era does."""
        if self.era == "modern":
            self.ask("server/discover", {})
            return
        self.ask("initialize", {"protocolVersion": LEGACY_REVISION, "capabilities": {}, "clientInfo": CLIENT})
        status, _ = self.post({"method": "notifications/initialized", "params": {}})
        assert status == 202

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, result or error."""
        self._sent += 1
        modern = {**params, "_meta": META} if self.era == "modern" else params
        _, answer = self.post({"id": self._sent, "method": method, "params": modern})
        assert answer is not None and answer["id"] == self._sent, answer
        return answer

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request that succeeds."""
        answer = self.answer(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def post(self, message: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        """Sends a message; status, and the last message of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.endpoint.port, timeout=PATIENCE_S)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), self._headers(message))
        response = connection.getresponse()
        body = response.read().decode()
        self.session = response.headers.get("Mcp-Session-Id") or self.session
        connection.close()
        if response.headers.get_content_type() == "text/event-stream":
            # The answer comes after earlier notifications.
            # A line ends with a line feed and nothing else: texts may hold other separators.
            *_, body = (line.removeprefix("data:") for line in body.split("\n") if "{" in line)
        return response.status, json.loads(body) if body else None

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {
            "Authorization": self.endpoint.authorization,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if self.era == "modern":
            headers |= {"MCP-Protocol-Version": MODERN_REVISION, "Mcp-Method": message["method"]}
            name = message["params"].get("name")
            return headers | ({"Mcp-Name": name} if name else {})
        session = {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": LEGACY_REVISION}
        return headers | (session if self.session else {})
