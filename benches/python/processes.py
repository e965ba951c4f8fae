"""Memory of the gateway's processes, from procfs. Linux only."""

import os
from pathlib import Path
from typing import Iterator, TypedDict


class Process(TypedDict):
    pid: int
    command: str
    private_kb: int
    children: int


def below_parent() -> list[Process]:
    """Every process below our parent except ourselves."""
    return [measured(pid) for pid in below(os.getppid()) if pid != os.getpid()]


def children(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in path.read_text().split()]


def below(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from below(child)


def measured(pid: int) -> Process:
    """Private pages, those written and those only mapped: what this process costs and no other shares."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    fields = dict(line.split()[:2] for line in rollup.splitlines()[1:])
    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    private = int(fields["Private_Dirty:"]) + int(fields["Private_Clean:"])
    return {"pid": pid, "command": command, "private_kb": private, "children": len(children(pid))}
