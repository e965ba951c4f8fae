"""Plumbing shared by the hostile servers in this folder; not hostile by itself.

Speaks newline-delimited JSON-RPC on stdio well enough for clients of MCP
2024-11-05 .. 2025-11-25 (initialize handshake) and 2026-07-28 (server/discover,
per-request _meta, resultType). Every server stops by itself after
HOSTILE_MAX_SECONDS (default 120). HOSTILE_SCALE (default 1.0) scales sizes and
counts, so a quick run can use 0.01. HOSTILE_ERA=legacy refuses server/discover,
so that the handshake a server misbehaves in is reached.
"""
import json
import os
import sys
import threading
import time

SCALE = float(os.environ.get("HOSTILE_SCALE", "1"))
MAX_SECONDS = float(os.environ.get("HOSTILE_MAX_SECONDS", "120"))
_lock = threading.Lock()
_out = sys.stdout.buffer


def scaled(n, least=1):
    return max(least, int(n * SCALE))


def _watchdog():
    time.sleep(MAX_SECONDS)
    os._exit(0)


def start_watchdog():
    threading.Thread(target=_watchdog, daemon=True).start()


def raw(data):
    with _lock:
        try:
            _out.write(data)
            _out.flush()
        except (BrokenPipeError, ValueError, OSError):
            os._exit(0)


def send(obj):
    raw(json.dumps(obj).encode("utf-8", "surrogatepass") + b"\n")


def tool(name="echo", description="Returns its arguments.", schema=None, **extra):
    t = {"name": name, "description": description,
         "inputSchema": schema if schema is not None else {"type": "object"}}
    t.update(extra)
    return t


def text(s):
    return {"content": [{"type": "text", "text": s}]}


class Server:
    """A polite server. Subclasses override one method to misbehave."""

    name = "hostile"
    version = "1.0.0"

    def tools(self):
        return [tool()]

    def capabilities(self):
        return {"tools": {"listChanged": True}}

    def reply(self, req, result):
        result.setdefault("resultType", "complete")
        send({"jsonrpc": "2.0", "id": req.get("id"), "result": result})

    def fail(self, req, code, message):
        send({"jsonrpc": "2.0", "id": req.get("id"), "error": {"code": code, "message": message}})

    def on_initialize(self, req):
        v = (req.get("params") or {}).get("protocolVersion", "2025-11-25")
        self.reply(req, {"protocolVersion": v, "capabilities": self.capabilities(),
                         "serverInfo": {"name": self.name, "version": self.version}})

    def on_discover(self, req):
        self.reply(req, {"supportedVersions": ["2026-07-28", "2025-11-25"],
                         "capabilities": self.capabilities(),
                         "serverInfo": {"name": self.name, "version": self.version},
                         "ttlMs": 0, "cacheScope": "private"})

    def on_list(self, req):
        self.reply(req, {"tools": self.tools(), "ttlMs": 0, "cacheScope": "private"})

    def on_call(self, req):
        args = (req.get("params") or {}).get("arguments") or {}
        self.reply(req, {"content": [{"type": "text", "text": json.dumps(args)}],
                         "structuredContent": args})

    def on_other(self, req):
        if req.get("method") == "ping":
            self.reply(req, {})
        elif "id" in req:
            self.fail(req, -32601, "method not found")

    def on_start(self):
        pass

    def on_eof(self):
        pass

    def handle(self, req):
        m = req.get("method", "")
        if m == "initialize":
            self.on_initialize(req)
        elif m == "server/discover" and os.environ.get("HOSTILE_ERA") == "legacy":
            self.fail(req, -32601, "method not found")
        elif m == "server/discover":
            self.on_discover(req)
        elif m == "tools/list":
            self.on_list(req)
        elif m == "tools/call":
            self.on_call(req)
        elif m.startswith("notifications/"):
            pass
        else:
            self.on_other(req)

    def run(self):
        start_watchdog()
        self.on_start()
        for line in sys.stdin.buffer:
            line = line.strip()
            if not line:
                continue
            try:
                req = json.loads(line)
            except ValueError:
                send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}})
                continue
            if isinstance(req, dict):
                self.handle(req)
        self.on_eof()
