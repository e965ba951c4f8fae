"""A server with tools for the programs of the tests, over standard input and output. It needs no library."""

import json
import os
import sys
import threading
import time

# Tools in one answer: `many` has three pages.
PAGE = 128
FILES = {"./package.json": '{"name": "demo", "version": "1.0.0"}', "/plain.txt": "plain text"}


def tool(name, description, properties=None, required=(), **more):
    schema = {"type": "object", "properties": properties or {}, "required": list(required), **more}
    return {"name": name, "description": description, "inputSchema": schema}


TEXT = {"type": "string"}
TOOLS = {
    "filesystem": [
        tool("read_file", "Read the contents of a file", {"path": TEXT}, ["path"]),
        tool(
            "write_file",
            "Write a file",
            {"path": TEXT, "content": TEXT, "mode": {"enum": ["fast", "slow"]}},
            ["path", "content"],
            additionalProperties=False,
        ),
        tool("echo", "Give the arguments back", {"value": {}}),
        tool("wait", "Wait for some milliseconds", {"ms": {"type": "integer"}}, ["ms"]),
        tool("fail", "Fail"),
        tool("large", "Give a text of many characters", {"chars": {"type": "integer"}}, ["chars"]),
    ],
    "many": [
        tool(f"{verb}_{noun}", f"{verb.capitalize()} the {noun} of a thread", {"id": TEXT}, ["id"])
        for verb in ("list", "get", "create", "update", "delete", "watch")
        for noun in (f"item{n}" for n in range(50))
    ],
}
TOOLS["own"] = [tool("process", "Give the number of this process")]
TOOLS["odd"] = [
    tool(name, f"The tool {name}")
    for name in ("Get-Weird.name", "import", "a.b", "a-b", "Read/File", "mixed", "fail", "grow")
]
TOOLS["supabase"] = [tool("execute_sql", "Execute SQL in the database", {"query": TEXT}, ["query"])]


def result(name, arguments):
    if name == "read_file":
        found = FILES.get(arguments["path"])
        if found is None:
            return {"content": [{"type": "text", "text": "no such file"}], "isError": True}
        return {"content": [{"type": "text", "text": found}]}
    if name == "fail":
        return {"content": [{"type": "text", "text": "it broke"}], "isError": True}
    if name == "process":
        return {"content": [{"type": "text", "text": str(os.getpid())}]}
    if name == "mixed":
        blocks = [{"type": "text", "text": "seven"}, {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"}]
        return {"content": blocks, "structuredContent": {"n": 7}}
    if name == "grow":
        TOOLS["odd"].append(tool("grown", "A tool that was not there before"))
        write({"method": "notifications/tools/list_changed"})
    if name in ("Get-Weird.name", "import", "a.b", "a-b", "Read/File", "grown"):
        return {"content": [{"type": "text", "text": f"it was {name}"}]}
    if name == "large":
        return {"content": [{"type": "text", "text": "x" * arguments["chars"]}]}
    if name == "wait":
        time.sleep(arguments["ms"] / 1000)
        return {"content": [{"type": "text", "text": "waited"}]}
    return {"content": [{"type": "text", "text": json.dumps(arguments)}]}


writing = threading.Lock()


def write(message):
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def handle(request):
    method, params = request.get("method"), request.get("params") or {}
    if "id" not in request:
        return
    if method == "initialize":
        info = {"name": "stub", "version": "1"}
        answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": info}
    elif method == "tools/list":
        tools, begin = TOOLS[sys.argv[1]], int(params.get("cursor", 0))
        answer = {"tools": tools[begin : begin + PAGE]}
        if begin + PAGE < len(tools):
            answer["nextCursor"] = str(begin + PAGE)
    elif method == "tools/call":
        answer = result(params["name"], params.get("arguments") or {})
    elif method == "ping":
        answer = {}
    else:
        write({"id": request["id"], "error": {"code": -32601, "message": "unknown method"}})
        return
    write({"id": request["id"], "result": answer})


for line in sys.stdin:
    threading.Thread(target=handle, args=(json.loads(line),), daemon=True).start()
