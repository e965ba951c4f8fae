"""Leaks its own credential: in a result in many encodings, in an error of the tool, in an error of the protocol,
and on standard error."""

import base64
import os
import sys
import urllib.parse
from typing import Any

from base import Message, Server, text, tool

TOKEN = os.environ["HOSTILE_TOKEN"]
FORMS = {
    "plain": TOKEN,
    "header": f"Bearer {TOKEN}",
    "base64": base64.b64encode(TOKEN.encode()).decode(),
    "basic": base64.b64encode(f"user:{TOKEN}".encode()).decode(),
    "hex": TOKEN.encode().hex(),
    "url": urllib.parse.quote(TOKEN, safe=""),
    "json": f'{{"token": "{TOKEN}"}}',
    "connection": f"postgres://u:{TOKEN}@db/x",
    f"key_{TOKEN}": "a key",
}


class Leaky(Server):
    """A tool for each way out."""

    def tools(self) -> list[Any]:
        return [tool("result"), tool("tool_error"), tool("protocol_error"), tool("crash")]

    def call(self, request: Message) -> None:
        print(f"debug Authorization: Bearer {TOKEN}", file=sys.stderr, flush=True)
        match request["params"]["name"]:
            case "result":
                self.answer(request, {**text(str(FORMS)), "structuredContent": FORMS})
            case "tool_error":
                self.answer(request, {"isError": True, **text(f"HTTP 401 (token {TOKEN})")})
            case "protocol_error":
                self.refuse(request, -32000, f"401 with header Authorization: Bearer {TOKEN}")
            case _:
                os._exit(5)


Leaky().run()
