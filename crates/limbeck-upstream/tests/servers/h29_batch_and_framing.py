"""Does: framing abuse: JSON-RPC batches, LSP-style Content-Length frames, CRLF,
several messages per line, a message split by long pauses, NUL separated messages,
leading spaces, 10,000 empty lines, requests from the server on stdout.

A good gateway: newline framing only, one message a line, tolerates CR and blank
lines (bounded), rejects the rest with a counter, resynchronises at the next
newline, and never treats a server's stray request as an answer.
Properties: S60 S79.
"""
import json
import time

from _base import Server, raw, send, scaled


class H(Server):
    name = "framing"
    n = 0

    def on_call(self, req):
        m = json.dumps({"jsonrpc": "2.0", "id": req.get("id"), "result": {"resultType": "complete", "content": [{"type": "text", "text": "framed"}]}}).encode()
        k = self.n % 9
        self.n += 1
        if k == 0:
            raw(b"[" + m + b"," + m + b"]\n")
        elif k == 1:
            raw(b"Content-Length: %d\r\n\r\n" % len(m) + m)
        elif k == 2:
            raw(b"   \t" + m + b"\r\n")
        elif k == 3:
            raw(m + m + b"\n")
        elif k == 4:
            half = len(m) // 2
            raw(m[:half])
            time.sleep(0.2)
            raw(m[half:] + b"\n")
        elif k == 5:
            raw(m + b"\0" + m + b"\0")
        elif k == 6:
            raw(b"\n" * scaled(10000, 10) + m + b"\n")
        elif k == 7:
            raw(m[:20] + b"\n" + m[20:] + b"\n")
        else:
            send({"jsonrpc": "2.0", "id": req.get("id"), "method": "ping"})
            raw(m + b"\n")


H().run()
