"""Answers `tools/list` with one line of 64 MiB: few tools, enormous descriptions."""

from typing import Any

from base import Server, scaled, tool


class GiantList(Server):
    """Four tools of 16 MiB."""

    def tools(self) -> list[Any]:
        words = "x" * scaled(16 << 20)
        return [tool(f"big{number}", words) for number in range(4)]


GiantList().run()
