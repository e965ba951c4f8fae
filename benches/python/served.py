"""A `limbeck serve` that is spoken to by hand."""

import json
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Served:
    """One gateway over standard input and output, with the benchmark's upstream as `t`."""

    def __init__(self, limbeck: Path, config: Path, state: Path) -> None:
        arguments = ["--no-discover", "--config", config, "--state-dir", state, "serve"]
        self._process = subprocess.Popen([limbeck, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._id = 0
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._ask("initialize", client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def execute(self, language: str, code: str) -> tuple[float, dict[str, Any]]:
        """Milliseconds from request to answer, and the envelope of a program that must succeed."""
        arguments = {"language": language, "code": code}
        started = time.perf_counter()
        result = self._ask("tools/call", {"name": "execute", "arguments": arguments})
        took = (time.perf_counter() - started) * 1e3
        envelope = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        if envelope.get("status") != "completed":
            raise RuntimeError(f"a {language} program did not complete: {envelope}")
        return took, envelope

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") != self._id:
                continue
            if "result" not in answer:
                raise RuntimeError(f"the gateway refused {method}: {answer}")
            return answer["result"]
        raise RuntimeError(f"the gateway ended before it answered {method}")

    def _send(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
