"""Does not answer in time. Argument: `init`, `list` or `call` (which it never answers), `drip` (a call, one byte a
second), `progress` (a call, kept alive for ever), `deaf` (stops reading behind its list)."""

import itertools
import json
import sys
import threading
import time

from base import MAX_SECONDS, Message, Server, send, text, write

MODE = sys.argv[1]


class Slow(Server):
    """Polite up to its point."""

    def initialize(self, request: Message) -> None:
        if MODE != "init":
            super().initialize(request)

    def list_tools(self, request: Message) -> None:
        if MODE == "list":
            return
        super().list_tools(request)
        if MODE == "deaf":
            time.sleep(MAX_SECONDS)

    def call(self, request: Message) -> None:
        match MODE:
            case "drip":
                drip({"jsonrpc": "2.0", "id": request["id"], "result": text("slow" * 50)})
            case "progress":
                token = request["params"].get("_meta", {}).get("progressToken", 0)
                threading.Thread(target=progress, args=[token], daemon=True).start()


def drip(message: Message) -> None:
    """Writes a message one byte a second."""
    for byte in json.dumps(message).encode() + b"\n":
        write(bytes([byte]))
        time.sleep(1)


def progress(token: object) -> None:
    """Reports progress for ever."""
    for number in itertools.count():
        params = {"progressToken": token, "progress": number}
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        time.sleep(0.1)


Slow().run()
