"""One server over every transport it has: the results are the same, and so is what a person reads."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway import ERAS, Gateway, serve_config
from processes import wait_until
from world import World, npm_server

# How the server is started for a transport, and the entry that reaches it.
HTTP = {"streamableHttp": ("http", "mcp"), "sse": ("sse", "sse")}

EVERYTHING = """
const text = await tools.everything.echo({ message: "ünï" });
const sum = await tools.everything["get-sum"]({ a: 2, b: 40 });
const weather = await tools.everything["get-structured-content"]({ location: "Chicago" });
const image = (await tools.everything["get-tiny-image"].raw()).content.map(({ type }) => type);
return { text, sum, weather, image };
"""


def free_port() -> int:
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def listening(world: World, transport: str, port: int) -> Iterator[dict[str, Any]]:
    """Runs the server on a transport of the network; gives the entry that reaches it."""
    kind, path = HTTP[transport]
    with world.log.open("a") as log:
        process = subprocess.Popen(
            [*npm_server("server-everything"), transport],
            env=world.environment(PORT=str(port)),
            stdout=log,
            stderr=log,
        )
    with process:
        wait_until(lambda: is_listening(port), f"the server listens on {port}")
        yield {"type": kind, "url": f"http://127.0.0.1:{port}/{path}"}
        process.terminate()


def is_listening(port: int) -> bool:
    """Whether the port accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def results(gateway: Gateway) -> Any:
    """What the server's tools give."""
    return gateway.execute(EVERYTHING).value


@pytest.mark.parametrize("transport", sorted(HTTP))
@pytest.mark.parametrize("era", sorted(ERAS))
def test_a_server_gives_the_same_over_the_network_as_over_its_pipes(world: World, era: str, transport: str) -> None:
    with serve_config(world, era, world.config(world.only("everything"))) as gateway:
        over_pipes = results(gateway)
    with listening(world, transport, free_port()) as entry:
        with serve_config(world, era, world.config({"everything": entry})) as gateway:
            assert results(gateway) == over_pipes
            assert "tools.everything.echo" in gateway.search("echo a message back")


@pytest.mark.parametrize("transport", sorted(HTTP))
def test_a_server_on_the_network_that_goes_and_comes_back_costs_the_calls_between(
    world: World, transport: str
) -> None:
    code = 'try { return await tools.everything.echo({ message: "x" }); } catch (error) { return error.code; }'
    port = free_port()
    kind, path = HTTP[transport]
    entry = {"type": kind, "url": f"http://127.0.0.1:{port}/{path}"}
    config = world.config({"everything": entry} | world.only("time"))
    with serve_config(world, "modern", config) as gateway:
        with listening(world, transport, port):
            assert gateway.execute(code).value == "Echo: x"
        assert gateway.execute(code).value in ("server_unavailable", "connection_lost")
        assert gateway.execute("return await tools.time.get_current_time({ timezone: 'UTC' });").value
        with listening(world, transport, port):
            wait_until(lambda: gateway.execute(code).value == "Echo: x", "the server is used again")
