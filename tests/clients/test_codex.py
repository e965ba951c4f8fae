"""Codex's own MCP client, driven through its app server: no model and no login take part."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clients import CODEX, limbeck_entry, package
from world import World


@dataclass
class AppServer:
    """A running `codex app-server`."""

    process: subprocess.Popen[str]
    requests: int = 0

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request; what comes before it is not for us."""
        self.requests += 1
        self._send({"id": self.requests, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.requests and "method" not in message:
                assert "result" in message, message
                return message["result"]
        raise AssertionError(f"`codex app-server` ended without an answer to `{method}`")

    def notify(self, method: str) -> None:
        """Sends a notification."""
        self._send({"method": method})

    def _send(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


@contextmanager
def app_server(world: World) -> Iterator[AppServer]:
    """Codex with the gateway in its configuration, past its own handshake."""
    entry = limbeck_entry(world)
    directory = world.home / ".codex"
    directory.mkdir()
    # Text and list of texts are the same in JSON and in TOML.
    lines = ["[mcp_servers.limbeck]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())]
    (directory / "config.toml").write_text("\n".join(lines))
    process = subprocess.Popen(
        package(CODEX, "app-server"),
        env=world.environment(),
        cwd=world.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        server = AppServer(process)
        server.ask("initialize", {"clientInfo": {"name": "limbeck-tests", "title": "tests", "version": "1"}})
        server.notify("initialized")
        yield server
        process.terminate()


def test_codex_lists_our_two_tools_and_calls_execute(world: World) -> None:
    (world.files / "note.txt").write_text("from Codex")
    with app_server(world) as codex:
        [status] = codex.ask("mcpServerStatus/list", {})["data"]
        thread = codex.ask("thread/start", {"cwd": str(world.project)})["thread"]["id"]
        code = "return (await tools.filesystem.read_text_file({ path: input })).content;"
        arguments = {"code": code, "input": str(world.files / "note.txt")}
        call = {"threadId": thread, "server": "limbeck", "tool": "execute", "arguments": arguments}
        result = codex.ask("mcpServer/tool/call", call)

    assert status["name"] == "limbeck"
    assert sorted(status["tools"]) == ["execute", "search"]
    assert not status.get("toolsError")
    assert result["isError"] is False
    [block] = result["content"]
    assert json.loads(block["text"])["value"] == "from Codex"
