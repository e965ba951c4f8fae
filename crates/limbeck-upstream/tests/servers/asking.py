"""A server that talks back: progress, questions, rounds of input, tasks, announcements, resources, prompts.

It speaks both eras (--era: both, legacy). Every line it reads goes to --log.
"""
import argparse
import json
import os
import queue
import sys
import threading
import time

options = argparse.ArgumentParser()
options.add_argument("--era", default="both")
options.add_argument("--log", default=os.devnull)
options = options.parse_args()
lock, answers, tasks = threading.Lock(), {}, {}
state = {"tools": ["progress", "ask", "regret", "rounds", "task", "announce", "wait"], "question": 0, "listening": None}


def note(line):
    with lock, open(options.log, "a") as log:
        log.write(line + "\n")


def send(message):
    with lock:
        sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
        sys.stdout.flush()


def reply(req, result):
    send({"id": req["id"], "result": result})


def structured(value):
    return {"resultType": "complete", "content": [], "structuredContent": value}


def question(method, params):
    """Asks the client and gives its whole answer."""
    with lock:
        state["question"] += 1
        number = 5000 + state["question"]
    answers[number] = queue.Queue()
    send({"id": number, "method": method, "params": params})
    return answers[number].get(timeout=20)


def call(req, name, args):
    token = (req["params"].get("_meta") or {}).get("progressToken")
    if name == "progress":
        for step in args["steps"]:
            send({"method": "notifications/progress", "params": dict({"progressToken": token}, **step)})
        return reply(req, structured({}))
    if name == "ask":
        if "path" in args:
            # Together with another call, until both are there.
            note("arrived")
            while open(options.log).read().count("arrived\n") < 2:
                time.sleep(0.01)
        answer = question(args["method"], args.get("params", {}))
        return reply(req, structured({k: v for k, v in answer.items() if k in ("result", "error")}))
    if name == "refuse":
        return send({"id": req["id"], "error": args})
    if name == "regret":
        with lock:
            state["question"] += 1
            number = 5000 + state["question"]
        answers[number] = queue.Queue()
        send({"id": number, "method": args["method"], "params": args["params"]})
        while not os.path.exists(args["until"]):
            time.sleep(0.01)
        send({"method": "notifications/cancelled", "params": {"requestId": number}})
        answer = answers[number].get(timeout=20)
        return reply(req, structured({k: v for k, v in answer.items() if k in ("result", "error")}))
    if name == "rounds":
        sent = req["params"].get("requestState")
        count = int(sent.split(":")[0]) if sent else 0
        if count < args["rounds"]:
            result = {"resultType": "input_required", "requestState": "%d: \u00e9\"\\ verbatim" % (count + 1)}
            if args.get("inputs"):
                result["inputRequests"] = args["inputs"]
            return reply(req, result)
        return reply(req, structured({"state": sent, "responses": req["params"].get("inputResponses"), "arguments": args}))
    if name == "task":
        tasks["t1"] = {"polls": 0, "args": args, "responses": None}
        return reply(req, {"resultType": "task", "taskId": "t1", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None, "pollIntervalMs": args.get("interval", 50)})
    if name == "announce":
        state["tools"].append("later")
        for _ in range(args.get("times", 1)):
            announce()
        return reply(req, structured({}))
    if name == "wait":
        time.sleep(args["ms"] / 1000)
        return reply(req, structured({}))
    send({"id": req["id"], "error": {"code": -32602, "message": "no such tool"}})


def announce():
    for method in ("tools/list_changed", "resources/list_changed"):
        message = {"method": "notifications/" + method, "params": {}}
        if state["listening"] is not None:
            message["params"] = {"_meta": {"io.modelcontextprotocol/subscriptionId": state["listening"]}}
        send(message)


def task(req):
    task, method = tasks[req["params"]["taskId"]], req["method"]
    if method == "tasks/cancel":
        return reply(req, {"resultType": "complete"})
    if method == "tasks/update":
        task["responses"] = req["params"]["inputResponses"]
        return reply(req, {"resultType": "complete"})
    task["polls"] += 1
    args = task["args"]
    answer = {"resultType": "complete", "taskId": "t1", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None}
    if args.get("inputs") and task["responses"] is None:
        answer.update(status="input_required", inputRequests=args["inputs"])
    elif task["polls"] >= args["polls"]:
        if args.get("fails"):
            answer.update(status="failed", error={"code": -32001, "message": "out of paper"})
        else:
            answer.update(status="completed", result=structured({"polls": task["polls"], "responses": task["responses"]}))
    reply(req, answer)


def offers(req):
    method, params = req["method"], req.get("params") or {}
    if method == "resources/list":
        first = params.get("cursor") is None
        page = {"resources": [{"uri": "note:1" if first else "note:2", "name": "n"}]}
        return reply(req, dict(page, nextCursor="2") if first else page)
    if method == "resources/read":
        if params["uri"] == "note:never":
            return  # Without an answer.
        if params["uri"] != "note:1":
            return send({"id": req["id"], "error": {"code": -32602, "message": "no such resource"}})
        return reply(req, {"contents": [{"uri": "note:1", "mimeType": "text/plain", "text": "hello", "big": 123456789012345678901234567890}]})
    if method == "prompts/get":
        return reply(req, {"messages": [{"role": "user", "content": {"type": "text", "text": json.dumps(params.get("arguments"))}}]})
    send({"id": req["id"], "error": {"code": -32601, "message": "unknown"}})


def handle(req):
    method, params = req.get("method"), req.get("params") or {}
    changes = {"listChanged": True}
    info = {"capabilities": {"tools": changes, "resources": changes}, "serverInfo": {"name": "asking", "version": "1"}}
    if method is None:
        answers[req["id"]].put(req)
    elif method == "server/discover" and options.era == "both":
        reply(req, dict(info, supportedVersions=["2026-07-28"], resultType="complete", ttlMs=0, cacheScope="private"))
    elif method == "initialize":
        reply(req, dict(info, protocolVersion=params["protocolVersion"]))
    elif method == "subscriptions/listen" and options.era == "both":
        state["listening"] = req["id"]
        send({"method": "notifications/subscriptions/acknowledged", "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": req["id"]}, "notifications": params["notifications"]}})
    elif method == "tools/list":
        reply(req, {"tools": [{"name": n, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for n in state["tools"]]})
    elif method == "tools/call":
        threading.Thread(target=call, args=(req, params["name"], params.get("arguments") or {}), daemon=True).start()
    elif method.startswith("tasks/"):
        task(req)
    elif "id" in req:
        offers(req)


note("start %d" % os.getpid())
for line in sys.stdin:
    note(line.rstrip("\n"))
    handle(json.loads(line))
