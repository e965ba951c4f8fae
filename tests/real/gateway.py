"""A gateway under test and its client: the PyPI `mcp` client, in either era."""

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult, ListToolsResult

from world import LIMBECK, PATIENCE_S, World

# How a client opens: with `initialize`, or with `server/discover` and nothing to remember.
ERAS = {"legacy": "legacy", "modern": "auto"}
MODERN_REVISION = "2026-07-28"


@dataclass(frozen=True)
class Envelope:
    """What an execution gives back."""

    raw: dict[str, Any]
    is_error: bool

    @property
    def id(self) -> str:
        """Its `execution_id`."""
        return self.raw["execution_id"]

    @property
    def value(self) -> Any:
        """What the program returned; fails the test when it did not complete."""
        assert self.raw["status"] == "completed", self.raw
        return self.raw.get("value")

    @property
    def error(self) -> dict[str, Any]:
        """Why the program did not complete; fails the test when it did."""
        assert self.raw["status"] == "failed", self.raw
        return self.raw["error"]

    @property
    def warnings(self) -> list[str]:
        """Its `warnings`."""
        return self.raw.get("warnings", [])

    @property
    def effects(self) -> dict[str, int]:
        """How many calls reached a server."""
        return self.raw.get("effects", {"reads": 0, "writes": 0})


@dataclass(frozen=True)
class Gateway:
    """A running `limbeck serve` with one client."""

    world: World
    era: str
    client: Client
    portal: BlockingPortal

    def tools(self) -> ListToolsResult:
        """What `tools/list` answers."""
        return self.portal.call(self.client.list_tools)

    def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Calls one of our own tools."""
        return self.portal.call(self.client.call_tool, tool, arguments)

    def search(self, *queries: str, **more: Any) -> str:
        """The text of a search."""
        result = self.call("search", {"queries": list(queries), **more})
        assert not result.is_error, result
        return text_of(result)

    def execute(self, code: str, **more: Any) -> Envelope:
        """Runs a program and gives its envelope."""
        return envelope_of(self.call("execute", {"code": code, **more}))

    def start(self, code: str, **more: Any) -> Future[CallToolResult]:
        """Sends a program without waiting for its end."""
        arguments = {"code": code, **more}
        return self.portal.start_task_soon(self.client.call_tool, "execute", arguments)


def text_of(result: CallToolResult) -> str:
    """The only text block of a result of Limbeck, which never has structured content."""
    assert result.structured_content is None, result
    [block] = result.content
    assert block.type == "text", block
    return block.text


def envelope_of(result: CallToolResult) -> Envelope:
    """The envelope in the answer of `execute`."""
    raw = json.loads(text_of(result))
    assert bool(result.is_error) == ("error" in raw), raw
    return Envelope(raw, bool(result.is_error))


@contextmanager
def serve(world: World, era: str, *args: str, **environment: str) -> Iterator[Gateway]:
    """Starts `limbeck serve`, connects, and ends it by closing its standard input."""
    parameters = StdioServerParameters(
        command=str(LIMBECK),
        args=["serve", *args],
        env=world.environment(**environment),
        cwd=world.project,
    )
    with world.log.open("a") as log, start_blocking_portal() as portal:
        transport = stdio_client(parameters, errlog=log)
        client = Client(transport, mode=ERAS[era], read_timeout_seconds=PATIENCE_S)
        with portal.wrap_async_context_manager(client):
            yield Gateway(world, era, client, portal)


@contextmanager
def serve_config(world: World, era: str, config: Path) -> Iterator[Gateway]:
    """`serve` with one configuration file, and with trust in what its servers say of their tools."""
    files = ["--config", str(config), "--config", str(world.trust(config))]
    with serve(world, era, *files, "--no-discover") as gateway:
        yield gateway
