"""The built `limbeck` over the fake world: one long `serve`, and `run` for single programs.

Raw JSON-RPC, so that a program and its result are not changed by a client library.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import world
from corpus import HERE, Outcome, Program

LIMBECK = Path(os.environ.get("LIMBECK_BIN", HERE.parents[1] / "target/debug/limbeck"))
REVISION = "2025-11-25"
# Longest wait for one program, in seconds; reached only when something hangs.
PATIENCE_S = 30.0


def write_config(directory: Path) -> Path:
    """A configuration of every server of the world."""
    servers = {name: {"command": sys.executable, "args": [str(HERE / "server.py"), name]} for name in world.MAKERS}
    path = directory / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def write_trust(directory: Path) -> Path:
    """A policy by which the servers of the world say truly what only reads."""
    path = directory / "trust.toml"
    path.write_text('[policy]\npreset = "observe"\n' f"trust_annotations = {json.dumps(list(world.MAKERS))}\n")
    return path


def environment(directory: Path) -> dict[str, str]:
    """The whole environment of a gateway: a home of its own."""
    home = directory / "home"
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "PATH": "/usr/bin:/bin"}


class Engine:
    """A `limbeck serve` that runs one program after the other."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._next_id = 0
        self._log = (directory / "stderr.log").open("w")
        self._process = subprocess.Popen(
            [LIMBECK, "serve", "--config", write_config(directory), "--config", write_trust(directory), "--no-discover"],
            env=environment(directory),
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> Self:
        client = {"name": "corpus", "version": "1"}
        self._ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._log.close()

    def execute(self, program: Program) -> Outcome:
        """The envelope of a program."""
        return self.execute_source(program.source, program.input)

    def execute_source(self, source: str, input: Any = None) -> Outcome:
        """The envelope of a text."""
        arguments = {"code": source, "language": "python", "input": input}
        result = self._ask("tools/call", {"name": "execute", "arguments": arguments})
        return json.loads(result["content"][0]["text"])

    def replay(self, execution_id: str) -> dict[str, Any]:
        """Report of `limbeck replay`. The end of an execution reaches the journal shortly after its answer."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            ran = subprocess.run(
                [LIMBECK, "replay", "--json", execution_id],
                env=environment(self.directory),
                cwd=self.directory,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
            if ran.stdout:
                return json.loads(ran.stdout)
            assert "has not ended" in ran.stderr and time.monotonic() < deadline, ran.stderr

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._next_id and "method" not in message:
                assert "result" in message, message
                return message["result"]
        raise AssertionError((self.directory / "stderr.log").read_text())

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def run(program: Program, directory: Path) -> tuple[int, Outcome]:
    """Exit code and envelope of `limbeck run`."""
    command: list[str | Path] = [
        LIMBECK,
        "run",
        "--json",
        "--language",
        "py",
        "--no-discover",
        "--config",
        write_config(directory),
        "--config",
        write_trust(directory),
    ]
    ran = subprocess.run(
        [*command, "--input", json.dumps(program.input), program.path],
        env=environment(directory),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)
