"""Widely used bridges between transports, in front of the gateway and behind it."""

import json
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from clients import MCP_REMOTE, PACKAGES, SCRIPTS, SUPERGATEWAY, limbeck_serve, node, package, run_json
from gateway import serve_config
from processes import running, wait_until
from world import MARK, World, entry, npm_server


def free_port() -> int:
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def is_listening(port: int) -> bool:
    """Whether the port accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def listening(world: World, command: list[str], port: int, **environment: str) -> Iterator[str]:
    """Runs a server that listens on `port`; gives the URL of its endpoint."""
    with world.log.open("a") as log:
        process = subprocess.Popen(
            command, env=world.environment(**environment), cwd=world.project, stdout=log, stderr=log
        )
    with process:
        wait_until(lambda: is_listening(port), f"something listens on {port}")
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


def test_a_client_reaches_the_gateway_through_two_bridges(world: World) -> None:
    """Client, stdio, mcp-remote, Streamable HTTP, supergateway, stdio, gateway."""
    port = free_port()
    options = ["--outputTransport", "streamableHttp", "--stateful", "--port", str(port), "--logLevel", "none"]
    bridge = package(SUPERGATEWAY, "--stdio", shlex.join(limbeck_serve(world)), *options)
    calls = [{"name": "execute", "arguments": {"code": "return (await tools.memory.read_graph({})).entities;"}}]
    with listening(world, bridge, port) as url:
        remote = package(MCP_REMOTE, url, "--allow-http", "--transport", "http-only")
        seen = run_json(world, node(SCRIPTS / "sdk_v1.mjs", str(PACKAGES), json.dumps(calls), *remote))

    assert seen["tools"] == ["search", "execute"]
    assert json.loads(seen["results"][0]["content"][0]["text"])["value"] == []


def test_a_server_behind_mcp_remote_is_an_upstream(world: World) -> None:
    """Gateway, stdio, mcp-remote, Streamable HTTP, server."""
    port = free_port()
    everything = [*npm_server("server-everything"), "streamableHttp"]
    with listening(world, everything, port, PORT=str(port)) as url:
        remote = package(MCP_REMOTE, url, "--allow-http", "--transport", "http-only")
        config = world.config({"remote": entry(remote, **{MARK: world.mark})})
        with serve_config(world, "modern", config) as gateway:
            assert gateway.execute('return await tools.remote.echo({ message: "far" });').value == "Echo: far"
    wait_until(
        lambda: not any(process.carries(world.mark) for process in running().values()),
        "the bridge is gone with the gateway",
    )


def test_a_server_behind_supergateway_is_an_upstream(world: World) -> None:
    """Gateway, Streamable HTTP, supergateway, stdio, server."""
    port = free_port()
    server = shlex.join(npm_server("server-everything"))
    options = ["--outputTransport", "streamableHttp", "--stateful", "--port", str(port), "--logLevel", "none"]
    with listening(world, package(SUPERGATEWAY, "--stdio", server, *options), port) as url:
        config = world.config({"bridged": {"type": "http", "url": url, "allow_http": True}})
        for era in ("legacy", "modern"):
            with serve_config(world, era, config) as gateway:
                assert gateway.execute('return await tools.bridged.echo({ message: "near" });').value == "Echo: near"
