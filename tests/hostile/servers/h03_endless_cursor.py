"""Lists pages without end. Argument: `same` (one cursor again and again), `grow` (a new one each time), `empty`
(new ones on empty pages), `huge` (cursors of 1 MiB)."""

import sys

from base import Message, Server, scaled, tool

MODE = sys.argv[1]


class EndlessCursor(Server):
    """Always has one more page."""

    pages = 0

    def list_tools(self, request: Message) -> None:
        self.pages += 1
        tools = [] if MODE == "empty" else [tool(f"t{self.pages}")]
        number = "again" if MODE == "same" else str(self.pages)
        padding = "x" * scaled(1 << 20) if MODE == "huge" else ""
        self.answer_cached(request, {"tools": tools, "nextCursor": number + padding})


EndlessCursor().run()
