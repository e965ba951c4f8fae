"""Crashes. Argument: `exit0`, `exit1`, `kill` (a signal) or `half` (half an answer first) during a call, `before` during
the legacy handshake, `afterlist` behind its list."""

import os
import signal
import sys

from base import Message, Server, write

MODE = sys.argv[1]


class Crasher(Server):
    """Ends at its point."""

    def initialize(self, request: Message) -> None:
        if MODE == "before":
            print("the licence has expired", file=sys.stderr, flush=True)
            os._exit(3)
        super().initialize(request)

    def list_tools(self, request: Message) -> None:
        super().list_tools(request)
        if MODE == "afterlist":
            os._exit(4)

    def call(self, request: Message) -> None:
        match MODE:
            case "half":
                write(b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","te')
                os._exit(1)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                os._exit(int(MODE == "exit1"))


Crasher().run()
