"""Answers after it was cancelled: late, twice, and with an error under the next id. The tool `now` answers at once."""

import threading
from typing import Any

from base import Message, Server, send, text, tool

# Longer than any caller of the tests waits, shorter than any test.
LATE_S = 2.0


class Late(Server):
    """Takes its time."""

    def tools(self) -> list[Any]:
        return [tool("late"), tool("now")]

    def call(self, request: Message) -> None:
        if request["params"]["name"] == "now":
            return self.answer(request, text("now"))
        timer = threading.Timer(LATE_S, self.answer_late, [request])
        timer.daemon = True
        timer.start()

    def answer_late(self, request: Message) -> None:
        """Answers a cancelled call, twice, and then another one."""
        self.answer(request, text("LATE-ANSWER"))
        self.answer(request, text("LATE-ANSWER-AGAIN"))
        stolen = {"code": -32603, "message": "STOLEN-ID"}
        send({"jsonrpc": "2.0", "id": request["id"] + 1, "error": stolen})


Late().run()
