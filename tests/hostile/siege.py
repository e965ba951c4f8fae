"""A gateway with a hostile server and a healthy one, and the conditions that the hostile one must not break.

`besieged` starts them, lets a test play the attack, and then asserts what is the same for every attack:

- the healthy server answered all the while, each call within `PULSE_MS_MAX`;
- the gateway's memory never grew by more than `GROWTH_KIB_MAX`;
- standard output was JSON-RPC and nothing else;
- no secret of the gateway or of the healthy server came out anywhere, and the log has no terminal sequence;
- the gateway ended with 0 when its input ended, and nothing it had started was left.
"""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer import Peer
from processes import family, wait_until, wait_until_none_is_left
from world import MARK, World, entry

SERVERS = Path(__file__).parent / "servers"

# The hostile server's own credential, and two of others.
HOSTILE_TOKEN = "CANARY-hostile-0123456789abcdef"
HEALTHY_TOKEN = "CANARY-healthy-0123456789abcdef"
GATEWAY_TOKEN = "CANARY-gateway-0123456789abcdef"

# Longest time a call of a hostile server may take in these tests, unless a test sets another limit.
CALL_MS = 1_500
# Longest a call of the healthy server may take. Alone it takes 3 ms; the machine of a test is busy with the attack,
# and with other work.
PULSE_MS_MAX = 15_000
# A line of 24 MiB is the largest thing the gateway ever holds of a server, and it is held as bytes, as the
# parsed result, and as the frame for the worker at the same time.
GROWTH_KIB_MAX = 160 << 10

# Controls but line feed and tab, and what turns, hides or tags text.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")

SETTLE = """
const settle = async (call) => {
  try { return { value: await call() }; }
  catch (error) { return { error: { ...error, message: error.message } }; }
};
"""


def server(script: str, *args: str, timeout_ms: int = CALL_MS, **env: str) -> dict[str, Any]:
    """An entry that starts one of the scripts beside this file."""
    [path] = SERVERS.glob(f"{script}*.py")
    started = entry([sys.executable, "-B", str(path)], *args, **env)
    return {**started, "timeout_ms": timeout_ms}


@contextmanager
def web_server(script: str, *args: str, **env: str) -> Iterator[str]:
    """Runs one of the scripts that listen; gives its origin."""
    [path] = SERVERS.glob(f"{script}*.py")
    with subprocess.Popen(
        [sys.executable, "-B", str(path), *args], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        port = process.stdout.readline().strip()
        assert port.isdecimal(), f"`{script}` did not come up"
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def remote(url: str, *, timeout_ms: int = CALL_MS, **headers: str) -> dict[str, Any]:
    """An entry that connects to a URL; `_` in a header's name means `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"type": "http", "url": url, "headers": named, "timeout_ms": timeout_ms}


@dataclass(frozen=True)
class Outcome:
    """What a program got from one call."""

    raw: dict[str, Any]

    @property
    def value(self) -> Any:
        """The result; fails the test when the call failed."""
        assert "error" not in self.raw, self.raw
        return self.raw.get("value")

    @property
    def error(self) -> dict[str, Any]:
        """The error; fails the test when the call succeeded. Its words are fit for a terminal."""
        assert "error" in self.raw, self.raw
        error = self.raw["error"]
        assert not CONTROLS.search(error["message"]), error
        assert error["server"] == "hostile", error
        return error


@dataclass(frozen=True)
class Siege:
    """A running gateway under attack."""

    world: World
    peer: Peer

    def call(self, tool: str, *, server: str = "hostile", **arguments: Any) -> Outcome:
        """Calls a tool through a program that catches what may come."""
        code = f"{SETTLE}\nreturn await settle(() => tools[input.server][input.tool](input.arguments));"
        envelope = self.execute(code, input={"server": server, "tool": tool, "arguments": arguments})
        assert envelope["status"] == "completed", envelope
        return Outcome(envelope["value"])

    def execute(self, code: str, **more: Any) -> dict[str, Any]:
        """The envelope of a program."""
        return self.peer.execute(code, **more)

    def search(self, query: str, **more: Any) -> str:
        """What the model reads of a search; never anything that acts on a terminal."""
        arguments = {"queries": [query], **more}
        result = self.peer.ask("tools/call", {"name": "search", "arguments": arguments})
        words = result["content"][0]["text"]
        assert not CONTROLS.search(words), words
        return words

    def tool_count(self) -> int:
        """How many tools of the hostile server a program sees."""
        listed = self.execute("return await servers();")["value"]
        [count] = [server["tools"] for server in listed if server["name"] == "hostile"]
        return count


class Pulse:
    """Calls the healthy server, one call after the other, as long as the attack lasts."""

    def __init__(self, siege: Siege) -> None:
        self._siege = siege
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self.took_ms: list[float] = []
        self.fault: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops behind at least one more call, and fails the test when any of them failed or was late."""
        beats = len(self.took_ms)
        wait_until(lambda: self.fault is not None or len(self.took_ms) > beats, "the healthy server answers")
        self._ends.set()
        self._thread.join()
        if self.fault is not None:
            raise self.fault
        assert max(self.took_ms) <= PULSE_MS_MAX, f"the healthy server answered after {max(self.took_ms)} ms"

    def _beat(self) -> None:
        number = 0
        while not self._ends.is_set():
            number += 1
            began = time.monotonic()
            try:
                outcome = self._siege.call("echo", server="healthy", number=number)
                assert outcome.value == {"number": number}, outcome
            except Exception as fault:
                self.fault = fault
                return
            self.took_ms.append((time.monotonic() - began) * 1000)
            self._ends.wait(0.01)


@dataclass(frozen=True)
class Words:
    """Output of `limbeck tools` about the hostile server."""

    report: dict[str, Any]
    printed: str

    @property
    def names(self) -> list[str]:
        """The names of its tools."""
        return [tool["name"] for tool in self.report["tools"]]


def words(world: World, hostile: dict[str, Any]) -> Words:
    """Asks `limbeck tools` of a server, as a person and as a program."""
    hostile["env"] |= {"HOSTILE_TOKEN": HOSTILE_TOKEN}
    options = ("tools", "hostile", "--config", str(world.config({"hostile": hostile})), "--no-discover")
    ran = world.limbeck(*options)
    printed = ran.stdout + ran.stderr
    assert not CONTROLS.search(printed), printed
    [report] = world.limbeck_json(*options)["servers"]
    return Words(report, printed)


@contextmanager
def besieged(
    world: World, hostile: dict[str, Any], *, era: str = "legacy", **environment: str
) -> Iterator[Siege]:
    """A gateway in front of `hostile` and a healthy server; see the module for what is asserted at the end."""
    if "command" in hostile:
        hostile["env"] |= {"HOSTILE_TOKEN": HOSTILE_TOKEN, MARK: world.mark}
    healthy = server("healthy", timeout_ms=30_000, HEALTHY_TOKEN=HEALTHY_TOKEN, **{MARK: world.mark})
    config = world.config({"hostile": hostile, "healthy": healthy})
    environment["GATEWAY_TOKEN"] = GATEWAY_TOKEN
    with Peer(world, era, "--config", str(config), "--no-discover", **environment) as peer:
        peer.handshake()
        siege = Siege(world, peer)
        siege.call("echo", server="healthy", number=0)
        calm_kib = peak_kib(peer.pid)
        pulse = Pulse(siege)
        pulse.start()
        yield siege
        pulse.stop()
        growth_kib = peak_kib(peer.pid) - calm_kib
        assert growth_kib <= GROWTH_KIB_MAX, f"the gateway grew by {growth_kib} KiB"
        before = family(peer.pid, world.mark)
        assert peer.close() == 0, world.log.read_text()[-2000:]
        wait_until_none_is_left(before, peer.pid, world.mark)
        assert_clean(world, peer)


def assert_clean(world: World, peer: Peer) -> None:
    """Nothing came out that must not."""
    log = world.log.read_text(errors="strict")
    assert not CONTROLS.search(log), log
    for line in peer.lines:
        assert json.loads(line)["jsonrpc"] == "2.0", line
    for stream in ("".join(peer.lines), log):
        assert HEALTHY_TOKEN not in stream
        assert GATEWAY_TOKEN not in stream


def peak_kib(pid: int) -> int:
    """The most memory a process ever had in use."""
    status = Path(f"/proc/{pid}/status").read_text()
    [peak] = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(peak)
