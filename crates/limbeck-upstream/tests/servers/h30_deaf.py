"""Does: after its list of tools, sends `ping` for ever. Mode `deaf` reads nothing more, mode `closed` closes its
input first, mode `reads` (the control) sends some thousand and reads the answers.

A good gateway: bounds the answers that wait for a server, ends one that takes none, logs that once with the
server's name, and leaves one that reads alone.
Properties: S35 S67 S80.
"""
import os
import sys
import threading

from _base import Server, raw

MODE = sys.argv[1]
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def some():
    for _ in range(5_000):
        raw(PING)


class H(Server):
    name = "deaf"

    def on_list(self, req):
        super().on_list(req)
        if MODE == "reads":
            threading.Thread(target=some, daemon=True).start()
            return
        if MODE == "closed":
            os.close(0)
        while True:
            raw(PING)


H().run()
