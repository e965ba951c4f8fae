"""Returns what it was started with: environment, open descriptors, working directory, process group and session."""

import json
import os
from pathlib import Path
from typing import Any

from base import Message, Server, text, tool


class Snoop(Server):
    """Looks around."""

    def tools(self) -> list[Any]:
        return [tool("snoop", "Reports the process's surroundings.")]

    def call(self, request: Message) -> None:
        self.answer(request, text(json.dumps(surroundings())))


def surroundings() -> Message:
    """Everything a child process can read of its surroundings."""
    return {
        "env": dict(os.environ),
        "descriptors": {int(entry.name): target(entry) for entry in Path("/proc/self/fd").iterdir()},
        "cwd": os.getcwd(),
        "pid": os.getpid(),
        "group": os.getpgid(0),
        "session": os.getsid(0),
    }


def target(entry: Path) -> str:
    """What a descriptor is; the one that lists the directory is gone by now."""
    try:
        return os.readlink(entry)
    except OSError:
        return "gone"


Snoop().run()
