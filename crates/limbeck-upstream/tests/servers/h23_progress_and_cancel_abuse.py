"""Does: after a call is cancelled or timed out it still answers late, answers twice,
and answers with an error for an unrelated id.

A good gateway: discards answers to cancelled/timed-out ids, never resolves a later
call that reuses an id (ids are never reused on a connection), keeps counters.
Properties: S54 S79 S36.
"""
import threading
import time

from _base import Server, send, text

LATE = 0.6


class H(Server):
    name = "late"

    def on_call(self, req):
        i = req.get("id")

        def later():
            time.sleep(LATE)
            for s in ("LATE-ANSWER", "LATE-ANSWER-AGAIN"):
                r = text(s)
                r["resultType"] = "complete"
                send({"jsonrpc": "2.0", "id": i, "result": r})
            if isinstance(i, int):
                send({"jsonrpc": "2.0", "id": i + 1, "error": {"code": -32603, "message": "STOLEN-ID"}})

        threading.Thread(target=later, daemon=True).start()


H().run()
