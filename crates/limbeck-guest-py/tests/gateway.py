"""A gateway small enough to read: two servers and a store, in virtual time.

It takes the place of the worker: a `Gateway` has the three functions that the guest imports. Tools have
a latency; `wait` moves the clock to the next answer or to the time asked for, whichever comes first.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

EPOCH_US = 1_778_000_000_000_000


class Refused(Exception):
    """A tool's `CallError`."""

    def __init__(self, code: str, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.details = {"code": code, "message": message, "retryable": False, **fields}


@dataclass
class ToolSpec:
    """One tool: what it answers with, after how long, and the arguments it takes."""

    answer: Callable[[dict[str, Any]], Any]
    latency_ms: int = 10
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    description: str = "A tool."
    # Whether the value is structured, or text in a content block.
    structured: bool = True


def _orders(arguments: dict[str, Any]) -> dict[str, Any]:
    page = arguments.get("page", 1)
    return {
        "items": [{"id": page * 10 + i, "total": 10.5 * (i + 1), "customer": {"name": f"c{i}"}} for i in range(3)],
        "page": page,
        "next": page + 1 if page < 3 else None,
    }


def _fail(arguments: dict[str, Any]) -> Any:
    raise Refused("tool_failed", arguments.get("message", "it failed"), server="shop", tool="fail")


SERVERS: dict[str, dict[str, ToolSpec]] = {
    "shop": {
        "list_orders": ToolSpec(_orders, 300, ("page", "page_size"), description="Lists orders, page by page."),
        "get_order": ToolSpec(lambda a: {"id": a["id"], "total": a["id"] * 2}, 50, ("id",), ("id",), "Reads one order."),
        "create-order": ToolSpec(lambda a: {"created": a}, 50, ("item", "from"), ("item",), "Creates an order."),
        "fail": ToolSpec(_fail, 5, ("message",)),
        "echo": ToolSpec(lambda a: a, 5, ("*",)),
        "slow": ToolSpec(lambda a: "done", 5_000),
    },
    "Get-Weird.1": {
        "Get-Weird.name": ToolSpec(lambda a: "plain text", 5, structured=False),
        "import": ToolSpec(lambda a: '{"title": "t", "count": 3}', 5, structured=False),
        "a.b": ToolSpec(lambda a: "first", 5, structured=False),
        "a-b": ToolSpec(lambda a: "second", 5, structured=False),
    },
}


def _fold(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


@dataclass
class Gateway:
    """The host of one run."""

    # What is done with the program; none runs it.
    mode: str | None = None
    store: dict[str, Any] = field(default_factory=dict)
    servers: dict[str, dict[str, ToolSpec]] = field(default_factory=lambda: SERVERS)
    now_us: int = EPOCH_US
    wall_ms: int = 60_000
    calls: list[tuple[str, Any]] = field(default_factory=list)
    lines: tuple[list[str], list[str], list[str], list[str]] = field(default_factory=lambda: ([], [], [], []))
    emitted: list[Any] = field(default_factory=list)
    # How the lists of servers were cut.
    incomplete: dict[str, str] = field(default_factory=dict)
    waits: int = 0
    last_id: int = 0
    under_way: list[tuple[int, int, bool, str]] = field(default_factory=list)

    # --- what the guest imports ---

    def call(self, number: int, op: int, head: str, body: str) -> None:
        assert number == self.last_id + 1, f"call {number} after {self.last_id}"
        self.last_id = number
        latency_ms = 1
        try:
            if op == 1:
                latency_ms, value = self._tool(json.loads(head), json.loads(body))
            else:
                value = self._query(op, json.loads(body))
            ok = True
        except Refused as refused:
            ok, value = False, refused.details
        self.under_way.append((self.now_us + latency_ms * 1000, number, ok, json.dumps(value)))

    def log(self, stream: int, text: str) -> None:
        self.lines[stream].append(text)

    def wait(self, wake_at_us: int) -> list[tuple[int, bool, str]]:
        self.waits += 1
        self.under_way.sort()
        if not self.under_way and wake_at_us < 0:
            raise AssertionError("the guest waits for nothing")
        due = self.under_way[0][0] if self.under_way else wake_at_us
        if wake_at_us >= 0:
            due = min(due, wake_at_us)
        self.now_us = max(self.now_us, due)
        ready = [call for call in self.under_way if call[0] <= self.now_us]
        self.under_way = self.under_way[len(ready) :]
        return [(number, ok, text) for _, number, ok, text in ready]

    # --- answers ---

    def _tool(self, head: dict[str, Any], arguments: dict[str, Any]) -> tuple[int, Any]:
        server, name, tool = self._resolve(head.get("server"), head["tool"])
        self.calls.append((f"{server}.{name}", arguments))
        raw = head["form"] == "raw"
        try:
            value = tool.answer(arguments)
        except Refused as refused:
            if not raw or refused.details["code"] != "tool_failed":
                raise
            return tool.latency_ms, {"content": [{"type": "text", "text": str(refused)}], "isError": True}
        if not raw:
            return tool.latency_ms, value
        text = value if isinstance(value, str) else json.dumps(value)
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
        if tool.structured:
            result["structuredContent"] = value
        return tool.latency_ms, result

    def _resolve(self, server: str | None, tool: str) -> tuple[str, str, ToolSpec]:
        if server is None and tool.startswith("mcp__"):
            server, _, tool = tool[5:].partition("__")
        elif server is None and "." in tool:
            server, _, tool = tool.partition(".")
        elif server is None:
            having = [name for name, tools in self.servers.items() if tool in tools]
            if len(having) != 1:
                raise Refused("unknown_tool", f"`{tool}` is not a tool name", tool=tool)
            server = having[0]
        known = next((name for name in self.servers if name == server or _fold(name) == _fold(server)), None)
        if known is None:
            raise Refused("unknown_server", f"there is no server `{server}`", hint="servers are `shop`")
        tools = self.servers[known]
        found = tool if tool in tools else next((name for name in tools if _fold(name) == _fold(tool)), None)
        base, _, number = tool.rpartition("_")
        if found is None and number.isdigit():
            # The number of an alias that clashes, in the order of the list.
            found = dict(enumerate((name for name in tools if _fold(name) == _fold(base)), 1)).get(int(number))
        if found is None:
            hint = f"the nearest is `tools.{known}.{next(iter(tools))}`"
            raise Refused("unknown_tool", f"server `{known}` has no tool `{tool}`", server=known, tool=tool, hint=hint)
        return known, found, tools[found]

    def _entry(self, server: str, name: str, tool: ToolSpec) -> dict[str, Any]:
        schema = {"type": "object", "properties": {key: {} for key in tool.arguments if key != "*"}}
        return {
            "name": f"mcp__{server}__{name}", "server": server, "tool": name, "call": f"tools.{server}.{name}",
            "signature": f"{name}(...)", "description": tool.description, "inputSchema": schema, "parameters": schema,
        }  # fmt: skip

    def _query(self, op: int, body: dict[str, Any]) -> Any:
        if op == 2:
            words = body["query"].lower().split()
            every = [self._entry(s, n, t) for s, tools in self.servers.items() for n, t in tools.items()]
            found = [e for e in every if all(w in f"{e['name']} {e['description']}".lower() for w in words)]
            return found[: body.get("limit", 5)]
        if op == 3:
            if body.get("tool") is not None:
                return self._entry(*self._resolve(body.get("server"), body["tool"]))
            server, _, _ = self._resolve(body["server"], next(iter(self.servers["shop"])) if body["server"] == "shop" else "a.b")
            listed = {"server": server, "tools": [self._entry(server, n, t) for n, t in self.servers[server].items()]}
            return listed | ({"incomplete": self.incomplete[server]} if server in self.incomplete else {})
        if op == 4 and body.get("budgets"):
            return [{"id": "mail", "per": "day", "unit": "calls", "limit": 10, "left": 3}]
        if op == 4:
            return [{"name": s, "tools": len(t), "state": "ready", "description": f"{s}."} for s, t in self.servers.items()]
        if op == 5:
            return self.store.get(body["key"])
        if op == 6:
            self.store[body["key"]] = body["value"]
            return None
        if op == 8:
            if body["server"] not in self.servers:
                raise Refused("unknown_server", f"no server `{body['server']}`")
            if body["params"].get("uri") == "shop://limits":
                return [{"uri": "shop://limits", "mimeType": "application/json", "text": '{"max": 5}'}]
            return [body["server"], body["method"], body["params"]]
        if op == 9:
            return self._artifact(body)
        if op == 10:
            self.emitted.append(body["block"])
            return None
        if op == 20:
            return self._skill(body)
        if op == 21:
            return self._workspace(body)
        if op == 11:
            return self._model(body)
        raise AssertionError(f"op {op}")

    def _workspace(self, body: dict[str, Any]) -> Any:
        files = self.store.setdefault("workspace", {})
        path = body["path"].removeprefix("/projects/")
        if body["do"] == "list":
            return [{"path": name, "bytes": len(json.dumps(content))} for name, content in sorted(files.items())]
        if body["do"] == "write":
            files[path] = {key: body[key] for key in ("text", "base64") if key in body}
            return None
        if body["do"] == "remove":
            return files.pop(path, None) is not None
        if path not in files:
            raise Refused("invalid_arguments", f"the workspace has no file `{path}`")
        return files[path]

    def _skill(self, body: dict[str, Any]) -> Any:
        kept = self.store.setdefault("skills", {})
        if body["do"] == "save":
            version = kept.get(body["name"], {}).get("version", 0)
            if body.get("if_version", version) != version:
                raise Refused("invalid_arguments", f"skill `{body['name']}` is at version {version}")
            form = "program" if "execution" in body else "function"
            kept[body["name"]] = {"form": form, "version": version + 1, **body}
            return {"name": body["name"], "version": version + 1}
        if body["do"] == "get":
            if body["name"] not in kept:
                raise Refused("unknown_tool", f"there is no skill `{body['name']}`")
            return kept[body["name"]]
        if body["do"] == "find":
            return [kept[name] for name in body["names"] if name in kept]
        if body["do"] == "remove":
            return kept.pop(body["name"], None) is not None
        return [{"name": name, "call": f"skills.{name}"} for name in sorted(kept)]

    def _model(self, body: dict[str, Any]) -> Any:
        """A model that repeats the last message, or gives its length where a schema is asked for."""
        self.calls.append(("llm", body))
        said = body["prompt"] if body["do"] == "ask" else body["messages"][-1]["content"]
        if said == "fail":
            raise Refused("unsupported", "no model can be asked", hint="configure one")
        left = {"rounds": 10 - len(self.calls), "tokens": 1000}
        return {"text": said.upper(), "left": left} | ({"value": len(said)} if "schema" in body else {})

    def _artifact(self, body: dict[str, Any]) -> Any:
        """An artifact of three items, one a page; everything else of it is what was asked."""
        if body["do"] == "base64":
            return "AAEC/w=="
        if body["do"] != "items":
            return body
        start = body["from"]
        page = {"items": [{"name": "abc"[start]}]}
        return page if start == 2 else page | {"next": start + 1}
