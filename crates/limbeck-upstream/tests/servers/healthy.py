"""A well-behaved server that speaks both eras, for tests.

Every line it reads, and each start with its pid, is appended to --log. --era: both, legacy (refuses the
probe), dies (exits on the probe), silent (reads the probe and says nothing), late (the first process
dies on the probe, the later ones speak the modern era alone).
"""
import argparse
import json
import os
import sys
import threading
import time

options = argparse.ArgumentParser()
options.add_argument("--era", default="both")
options.add_argument("--import-seconds", type=float, default=0)
options.add_argument("--exit-on-start", default="")
options.add_argument("--log", default=os.devnull)
options = options.parse_args()
lock, running, peak = threading.Lock(), 0, 0


def note(line):
    with lock, open(options.log, "a") as log:
        log.write(line + "\n")


def send(head, body):
    with lock:
        sys.stdout.write('{"jsonrpc":"2.0","id":%s,%s}\n' % (head, body))
        sys.stdout.flush()


def reply(req, result):
    send(json.dumps(req["id"]), '"result":' + (result if isinstance(result, str) else json.dumps(result)))


def fail(req, code, **more):
    send(json.dumps(req["id"]), '"error":' + json.dumps(dict({"code": code, "message": "refused"}, **more)))


def call(req, name, args):
    global running, peak
    with lock:
        running += 1
        peak = max(peak, running)
    time.sleep(args.get("ms", 0) / 1000)
    with lock:
        running -= 1
    if name == "crash":
        sys.stderr.write("going down\n")
        sys.stderr.flush()
        os._exit(args.get("status", 7))
    if name == "refuse":
        return fail(req, **dict({"code": -32602}, **args))
    if name == "raw":
        return reply(req, args["result"])
    if name == "big":
        return reply(req, '{"content":[],"structuredContent":{"s":"%s"}}' % ("x" * args["bytes"]))
    args = {"peak": peak} if name == "peak" else args
    reply(req, {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(args)}], "structuredContent": args})


def handle(req):
    method, params = req.get("method"), req.get("params") or {}
    info = {"capabilities": {"tools": {}}, "serverInfo": {"name": "healthy", "version": "1"}, "instructions": "be kind"}
    if method == "server/discover":
        first = open(options.log).read().count("start ") == 1 if options.era == "late" else False
        if options.era == "dies" or first:
            os._exit(9)
        elif options.era == "legacy":
            fail(req, -32601)
        elif options.era != "silent":
            reply(req, dict(info, supportedVersions=["2026-07-28", "2025-11-25"], resultType="complete", ttlMs=0, cacheScope="private"))
    elif method == "initialize":
        if options.era == "late":
            fail(req, -32022)
        else:
            reply(req, dict(info, protocolVersion=params["protocolVersion"]))
    elif method == "tools/list":
        names = ["echo", "peak", "crash", "refuse", "raw", "big"]
        tools = [{"name": n, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for n in names]
        start = int(params.get("cursor") or 0)
        page = {"tools": tools[start:start + 4]}
        reply(req, dict(page, nextCursor="4") if start == 0 else page)
    elif method == "tools/call":
        threading.Thread(target=call, args=(req, params["name"], params.get("arguments") or {}), daemon=True).start()
    elif "id" in req:
        fail(req, -32601)


note("start %d" % os.getpid())
if options.exit_on_start:
    sys.stderr.write(options.exit_on_start + "\n")
    sys.exit(3)
time.sleep(options.import_seconds)
for line in sys.stdin:
    note(line.rstrip("\n"))
    handle(json.loads(line))
note("end of input")
