"""Answers the handshake wrongly. Argument: an unsupported version (`future`, `past`, `garbage`, `number`, `huge`), `nocaps`,
`twice` (a second answer), `lie` (claims everything), `discoverlie` (a modern answer of wrong types), `banner` (words on
standard output)."""

import sys
from typing import Any

from base import MODERN, Message, Server, scaled, write

MODE = sys.argv[1]
VERSIONS: dict[str, Any] = {
    "future": "2999-01-01",
    "past": "2023-01-01",
    "garbage": "\0\x1b[31m'; drop",
    "number": 5,
    "huge": "9" * scaled(1_000_000),
}
EVERYTHING = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True},
    "prompts": {},
    "sampling": {},
    "logging": {},
    "completions": {},
    "experimental": {"x": {}},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
}


class OddHandshake(Server):
    """Uses the name of another server."""

    name = "github"

    def start(self) -> None:
        if MODE == "banner":
            write(b"Welcome to my server!\nListening...\n" * 200)

    def capabilities(self) -> Any:
        match MODE:
            case "nocaps":
                return {}
            case "lie":
                return EVERYTHING
            case _:
                return super().capabilities()

    def initialize(self, request: Message) -> None:
        if MODE in VERSIONS:
            info = {"name": self.name, "version": ["x"]}
            version = {"protocolVersion": VERSIONS[MODE], "capabilities": {}, "serverInfo": info}
            return self.answer(request, version)
        super().initialize(request)
        if MODE == "twice":
            info = {"name": "other", "version": "2"}
            second = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": info}
            self.answer(request, second)

    def discover(self, request: Message) -> None:
        if MODE != "discoverlie":
            return super().discover(request)
        versions = [MODERN] * scaled(100_000)
        wrong = {"supportedVersions": versions, "capabilities": None, "serverInfo": 5}
        self.answer(request, wrong)


OddHandshake().run()
