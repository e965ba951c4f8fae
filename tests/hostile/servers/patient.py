"""A server that never answers, and records when it receives the cancellation of a call.

The tool `wait` writes a line into the file of `NOTES` when it is called, and another one when its call is cancelled: a
word and the time of the machine's monotonic clock, which is the same for every process.
"""

import os
import time
from pathlib import Path
from typing import Any

from base import Message, Server, tool


class Patient(Server):
    """Waits."""

    name = "patient"

    def tools(self) -> list[Any]:
        return [tool("wait", annotations={"readOnlyHint": True})]

    def call(self, request: Message) -> None:
        note("called")

    def handle(self, request: Message) -> None:
        if request.get("method") == "notifications/cancelled":
            note("cancelled")
        super().handle(request)


def note(word: str) -> None:
    """Writes down what happens now."""
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{word} {time.monotonic()}\n")


Patient().run()
