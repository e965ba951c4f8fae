"""The PyPI client with either protocol generation and transport, and callbacks that answer its requests."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitRequestFormParams, ElicitResult

from gateway import ERAS
from listening import listening
from world import LIMBECK, PATIENCE_S, World, entry

TRANSPORTS = ("pipes", "http")
EVERY_WAY = [(era, transport) for era in sorted(ERAS) for transport in TRANSPORTS]


def talking_server(world: World, **more: Any) -> dict[str, Any]:
    """The entry of `talking_server.py`."""
    script = Path(__file__).parent / "talking_server.py"
    return {**entry([sys.executable, str(script)]), **more}


@dataclass
class Person:
    """Answers a form with one answer after the other, the last one again and again."""

    answers: list[dict[str, Any]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, _: Any, params: ElicitRequestFormParams) -> ElicitResult:
        self.asked.append(params.message)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return ElicitResult.model_validate(answer)


@dataclass
class Conversation:
    """A connected client and the notifications it received."""

    client: Client
    received: list[Any]

    async def receives(self, method: str) -> Any:
        """The first notification of that method."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                for message in self.received:
                    if getattr(message, "method", None) == method:
                        return message
                await anyio.sleep(0.02)

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        """The text of an answer."""
        result = await self.client.call_tool(tool, arguments or {}, **more)
        return "\n".join(block.text for block in result.content)

    async def names(self) -> list[str]:
        """Names of the tools that are listed now."""
        return [tool.name for tool in (await self.client.list_tools()).tools]


@asynccontextmanager
async def conversation(
    world: World, way: tuple[str, str], config: Path, person: Person | None = None, model: Any = None
) -> AsyncIterator[Conversation]:
    """Serves with one configuration, and connects."""
    era, transport = way
    received: list[Any] = []

    async def receive(message: Any) -> None:
        received.append(message)

    def client(transport: Any) -> Client:
        return Client(
            transport,
            mode=ERAS[era],
            read_timeout_seconds=PATIENCE_S,
            elicitation_callback=person,
            sampling_callback=model,
            message_handler=receive,
            # A test that looks twice wants to see what is there.
            cache=None,
        )

    if transport == "pipes":
        parameters = StdioServerParameters(
            command=str(LIMBECK),
            args=["serve", "--config", str(config), "--no-discover"],
            env=world.environment(),
            cwd=world.project,
        )
        with world.log.open("a") as log:
            async with client(stdio_client(parameters, errlog=log)) as connected:
                yield Conversation(connected, received)
        return
    with listening(world, config) as endpoint:
        http = create_mcp_http_client(headers={"Authorization": endpoint.authorization})
        async with http, client(streamable_http_client(endpoint.url, http_client=http)) as connected:
            yield Conversation(connected, received)
