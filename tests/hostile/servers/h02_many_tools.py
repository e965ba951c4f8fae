"""Offers 100,000 small tools, a thousand a page."""

from base import Message, Server, scaled, tool

TOOLS = scaled(100_000)
PAGE = 1_000


class ManyTools(Server):
    """More tools than a client keeps."""

    def list_tools(self, request: Message) -> None:
        first = int(request["params"].get("cursor") or 0)
        after = min(first + PAGE, TOOLS)
        numbers = range(first, after)
        page = {"tools": [tool(f"tool_{n:06}", f"Does thing number {n}.") for n in numbers]}
        more = {"nextCursor": str(after)} if after < TOOLS else {}
        self.answer_cached(request, page | more)


ManyTools().run()
