"""Tool calls: names to tools, results to values, and a value that can be awaited or used as it is."""

import asyncio
import base64
import collections.abc
import json
import operator
import re
import time
from collections.abc import Callable, Generator
from typing import Any

from toolkit import Tool
from world import World, call

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}


class ToolError(RuntimeError):
    """A call that failed."""

    def __init__(
        self, message: str, code: str = "tool_failed", server: str | None = None, tool: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.server, self.tool = message, code, server, tool
        self.hint: str | None = None
        self.retryable = False


class Record(dict[str, Any]):
    """A JSON object whose keys can be read as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Call(collections.abc.Coroutine[Any, Any, Any]):
    """A call in flight: awaited, gathered, made a task of, or simply used as its value."""

    def __init__(self, ready_at: float, settle: Callable[[], Any]) -> None:
        self._ready_at, self._settle = ready_at, settle
        self._running: Any = None

    async def _finish(self) -> Any:
        await asyncio.sleep(max(0.0, self._ready_at - time.monotonic()))
        return self._settle()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._finish().__await__()

    def send(self, value: Any) -> Any:
        """Drives the call, as a task does."""
        if self._running is None:
            self._running = self._finish()
        return self._running.send(value)

    def throw(self, *args: Any) -> Any:
        """Cancels the call, as a task does."""
        if self._running is None:
            self._running = self._finish()
        return self._running.throw(*args)

    def close(self) -> None:
        """Gives up on the call."""
        if self._running is not None:
            self._running.close()

    def now(self) -> Any:
        """The value, waited for without a loop."""
        time.sleep(max(0.0, self._ready_at - time.monotonic()))
        return self._settle()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.now(), name)

    __hash__ = object.__hash__


BUILTINS: dict[str, Callable[..., Any]] = {
    "__iter__": iter,
    "__len__": len,
    "__str__": str,
    "__repr__": repr,
    "__bool__": bool,
    "__format__": format,
}


def _forward(name: str) -> Callable[..., Any]:
    function = BUILTINS.get(name) or getattr(operator, name)
    return lambda self, *args: function(self.now(), *args)


for _name in (
    "__getitem__",
    "__contains__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__gt__",
    "__add__",
    "__mod__",
    "__iter__",
    "__len__",
    "__str__",
    "__repr__",
    "__bool__",
    "__format__",
):
    setattr(Call, _name, _forward(_name))


def fold(name: str) -> str:
    """What all styles of a name have in common."""
    return re.sub(r"[\W_]", "", name).lower()


class Host:
    """One program's way to the world."""

    def __init__(self, world: World, is_async: bool) -> None:
        self.world = world
        self.is_async = is_async

    def record(self, value: Any) -> Any:
        """A JSON value with records for objects, and nothing shared with the world."""
        return json.loads(json.dumps(value), object_pairs_hook=Record)

    def later(self, settle: Callable[[], Any], seconds: float = 0.0) -> Any:
        """A value that a program may await; in a program without anything asynchronous the value itself."""
        made = Call(time.monotonic() + seconds, settle)
        return made if self.is_async else made.now()

    def tool(self, server: str | None, name: str) -> tuple[str, Tool]:
        """The tool a program means, by server and name or by full name."""
        if server is None:
            names = [each for each in self.world.names() if name.startswith(f"mcp__{each}__")]
            if not names:
                raise ToolError(f"no server of `{name}` is configured", "unknown_server")
            server = max(names, key=len)
            name = name.removeprefix(f"mcp__{server}__")
        named = self.server_name(server)
        tools = self.world.server(named).tools
        found = tools.get(name) or next((tool for tool in tools.values() if fold(tool.name) == fold(name)), None)
        if found is None:
            raise ToolError(f"`{named}` has no tool `{name}`", "unknown_tool", named, name)
        return named, found

    def server_name(self, server: str) -> str:
        """The server a program means."""
        for name in self.world.names():
            if name == server or fold(name) == fold(server):
                return name
        raise ToolError(f"no server `{server}`", "unknown_server", server)

    def call(
        self, server: str | None, name: str, arguments: dict[str, Any], shape: Callable[[str, Tool, Any], Any]
    ) -> Any:
        """Calls a tool; `shape` makes a program's value of its result."""
        try:
            named, tool = self.tool(server, name)
            _check(named, tool, arguments)
        except ToolError as error:
            return self.later(_raiser(error))
        seconds, result = call(tool, json.loads(json.dumps(arguments)))
        return self.later(lambda: shape(named, tool, self.record(result)), seconds)


def _raiser(error: ToolError) -> Callable[[], Any]:
    def settle() -> Any:
        raise error

    return settle


def _check(server: str, tool: Tool, arguments: dict[str, Any]) -> None:
    wrong = [f"`{name}` is missing" for name in tool.required if name not in arguments]
    for name, value in arguments.items():
        schema = tool.parameters.get(name)
        if schema is None:
            wrong.append(f"`{name}` is unknown")
        elif schema and (
            not isinstance(value, TYPES[schema["type"]]) or isinstance(value, bool) and schema["type"] != "boolean"
        ):
            wrong.append(f"`{name}` is no {schema['type']}")
        elif "enum" in schema and value not in schema["enum"]:
            wrong.append(f"`{name}` is not one of {schema['enum']}")
    if wrong:
        raise ToolError("; ".join(wrong), "invalid_arguments", server, tool.name)


def texts_of(result: dict[str, Any]) -> list[str] | None:
    """The texts of a result that has nothing else."""
    if any(block["type"] != "text" for block in result["content"]):
        return None
    return [block["text"] for block in result["content"]]


def value_of(server: str, tool: Tool, result: dict[str, Any]) -> Any:
    """The unwrapped value of a result."""
    texts = texts_of(result)
    if result.get("isError"):
        raise ToolError("\n".join(texts or []), "tool_failed", server, tool.name)
    if "structuredContent" in result:
        return result["structuredContent"]
    if not result["content"]:
        return None
    if texts is None:
        return [block["text"] if block["type"] == "text" else handle_of(block) for block in result["content"]]
    if len(texts) == 1 and tool.output is not None:
        return json.loads(texts[0], object_pairs_hook=Record)
    return "\n".join(texts)


def handle_of(block: dict[str, Any]) -> Any:
    """Handle of an image in a value; nothing is stored here, so it cannot be opened."""
    data = base64.b64decode(block["data"])
    return Record(artifact=None, mimeType=block["mimeType"], bytes=len(data))


def raw(server: str, tool: Tool, result: dict[str, Any]) -> Any:
    """The whole result."""
    return result
