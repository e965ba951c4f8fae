"""Which processes belong to a gateway, and waiting for them to be gone.

A process belongs to a gateway when the gateway started it, directly or not, when it is in the
gateway's session, or when it carries its world's mark in its environment. Each of the three finds
some that the others miss: an orphan has lost its parent, a daemon its session, a worker its
environment.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from world import MARK, PATIENCE_S


@dataclass(frozen=True)
class Process:
    """One process; the start time distinguishes it from a later one with the same id."""

    pid: int
    started: int
    parent: int = field(compare=False)
    session: int = field(compare=False)
    state: str = field(compare=False)

    @property
    def command(self) -> str:
        """Its command line, empty when it has ended."""
        return _read(self.pid, "cmdline").replace("\0", " ").strip()

    def carries(self, mark: str) -> bool:
        """Whether its environment holds the mark of a world."""
        return f"{MARK}={mark}" in _read(self.pid, "environ").split("\0")


def running() -> dict[int, Process]:
    """Every process of the machine that has not ended; one that waits to be reaped has."""
    found = (_process(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return {process.pid: process for process in found if process and process.state not in "ZX"}


def family(leader: int, mark: str) -> set[Process]:
    """What belongs to the gateway `leader`, itself left out."""
    processes = running()
    children = _below(leader, processes)
    others = (process for process in processes.values() if process.pid != leader)
    return {
        process
        for process in others
        if process.pid in children or process.session == leader or process.carries(mark)
    }


def left_of(before: set[Process], leader: int, mark: str) -> set[Process]:
    """What is left of a gateway: of those seen before, and of those started since."""
    return before & set(running().values()) | family(leader, mark)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
    """Polls a condition until it holds."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def wait_until_none_is_left(before: set[Process], leader: int, mark: str) -> None:
    """Waits until nothing of a gateway is left."""
    try:
        wait_until(lambda: not left_of(before, leader, mark), "every process of the gateway is gone", 10)
    except AssertionError as error:
        commands = [f"{process.pid} {process.command}" for process in left_of(before, leader, mark)]
        raise AssertionError(f"{error}; left: {commands}") from None


def _below(leader: int, processes: dict[int, Process]) -> set[int]:
    below: set[int] = set()
    found = {leader}
    while found:
        found = {process.pid for process in processes.values() if process.parent in found} - below
        below |= found
    return below


def _process(pid: int) -> Process | None:
    # The name may hold blanks and brackets; everything after the last bracket is fixed.
    fields = _read(pid, "stat").rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    state, parent, session, started = fields[0], fields[1], fields[3], fields[19]
    return Process(pid, int(started), int(parent), int(session), state)


def _read(pid: int, file: str) -> str:
    try:
        return Path(f"/proc/{pid}/{file}").read_text(errors="replace")
    except OSError:
        return ""
