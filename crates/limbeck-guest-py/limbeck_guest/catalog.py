"""Requests to the gateway itself: search and description of tools, the store, and the rest of the limits.

Each may be awaited or not, as calls of tools may.
"""

from collections.abc import Callable
from typing import Any

from . import calls, host, jsontext, tools, values
from .lazy import Call, is_call, resolved

_print = jsontext.printer(None)


def _ask(op: int, body: dict[str, Any], label: str) -> Any:
    return tools.answer(calls.start(op, "", _print(body), label))


def require_text(value: Any, label: str) -> str:
    """The text that a function takes; a call is its answer."""
    if is_call(value):
        value = resolved(value)
    if not isinstance(value, str):
        raise TypeError(f"{label} takes a string; got a {type(value).__name__}")
    return str(value)


def search(query: str, server: str | None = None, limit: int | None = None, detail: str | None = None) -> Any:
    """Tools that match, best first: `[{"call", "signature", "description", ...}]`."""
    body: dict[str, Any] = {"query": require_text(query, "search")}
    options = {"server": server, "limit": limit, "detail": detail}
    return _ask(host.SEARCH, body | {name: value for name, value in options.items() if value is not None}, "search")


def describe(target: Any, tool: str | None = None) -> Any:
    """A server, or one tool: `describe("server")`, `describe("server.tool")`, `describe(tools.server.tool)`."""
    known = tools.target_of(target)
    if known is not None:
        server, tool = known
    else:
        name = require_text(target, "describe")
        if tool is not None:
            server, tool = name, require_text(tool, "describe")
        elif name in tools.server_names():
            server = name
        elif name.startswith("mcp__"):
            # The gateway finds where the name of the server ends.
            server, tool = None, name
        else:
            found, rest = tools.split_name(name)
            server, tool = (name, None) if found is None else (found, rest)
    body = {key: part for key, part in (("server", server), ("tool", tool)) if part is not None}
    return _ask(host.DESCRIBE, body, "describe")


class Store:
    """Values kept between programs: `store.get(key)` and `store.set(key, value)`."""

    __slots__ = ()

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key; `default` when the key is absent."""
        body = _print({"key": require_text(key, "store.get")})

        def present(value: Any) -> Any:
            return default if value is None else value

        return tools.answer(calls.start(host.STORE_GET, "", body, "store.get", present))

    def set(self, key: str, value: Any) -> Any:
        """Keeps a value; None deletes."""
        name = _print(require_text(key, "store.set"))
        try:
            text = values.encode_arguments(value, "value")
        except values.NoJson as error:
            raise TypeError(f"store.set: {error}") from None
        return tools.answer(calls.start(host.STORE_SET, "", f'{{"key":{name},"value":{text}}}', "store.set"))

    def __repr__(self) -> str:
        return "[store]"


class Budget:
    """The rest of the limits of this execution; None for a limit that does not exist."""

    __slots__ = ("_started_us", "_limits", "_llm_left")

    def __init__(self, limits: dict[str, Any], llm_left: Callable[[], Any]) -> None:
        self._started_us = calls.now_us()
        self._limits = limits
        self._llm_left = llm_left

    @property
    def elapsed_ms(self) -> float:
        return (calls.now_us() - self._started_us) / 1000

    @property
    def remaining_ms(self) -> float | None:
        return self._left("wall_ms", self.elapsed_ms)

    @property
    def calls(self) -> int:
        return calls.made()

    @property
    def calls_remaining(self) -> float | None:
        return self._left("calls", calls.made())

    @property
    def llm(self) -> Any:
        """Rounds and tokens that are left for questions to models."""
        return self._llm_left()

    def remaining(self) -> Any:
        """What the budgets of the user leave: `[{"id", "unit", "limit", "left", ...}]`."""
        return _ask(host.SERVERS, {"budgets": True}, "budget.remaining")

    def _left(self, name: str, used: float) -> float | None:
        limit = self._limits.get(name)
        return max(0, limit - used) if isinstance(limit, (int, float)) else None


def immediate(call: Any) -> Any:
    """The answer of something just asked, waited for."""
    return resolved(call) if isinstance(call, Call) else call
