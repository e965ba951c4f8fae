"""Sends notifications without end: lists that changed, progress of unknown calls, log records, resources, methods without
meaning, some of them large. Every list it gives is another one."""

import itertools
import threading
from typing import Any

from base import Message, Server, scaled, send, tool


class NotificationFlood(Server):
    """Answers between the notifications."""

    lists = 0

    def start(self) -> None:
        threading.Thread(target=flood, daemon=True).start()

    def tools(self) -> list[Any]:
        self.lists += 1
        return [tool("echo"), *(tool(f"t{self.lists}_{number}") for number in range(50))]


def flood() -> None:
    """One of each kind, again and again."""
    for number in itertools.count():
        for method, params in notifications(number).items():
            send({"jsonrpc": "2.0", "method": method, "params": params})


def notifications(number: int) -> dict[str, Message]:
    """One notification of each kind."""
    return {
        "notifications/tools/list_changed": {},
        "notifications/progress": {"progressToken": number, "progress": number, "message": "p" * 1000},
        "notifications/message": {"level": "emergency", "data": "x" * scaled(20_000)},
        "notifications/resources/updated": {"uri": "file:///etc/passwd"},
        "notifications/cancelled": {"requestId": number},
        "notifications/initialized": {},
        "x" * 10_000: {},
    }


NotificationFlood().run()
