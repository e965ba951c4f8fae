"""The same clients, with the gateway on HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from clients import INSPECTOR, MCP_REMOTE, PACKAGES, SCRIPTS, SERVERS, claude, node, package, run_json
from gateway import ERAS
from listening import Endpoint, listening
from sdk import CALLS, assert_served
from world import World

CODE = "return (await tools.time.get_current_time({ timezone: 'UTC' })).timezone;"


@pytest.fixture
def endpoint(world: World) -> Iterator[Endpoint]:
    """A gateway over `SERVERS` that listens."""
    with listening(world, world.config(world.only(*SERVERS))) as endpoint:
        yield endpoint


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
def test_the_inspector_is_served(world: World, endpoint: Endpoint, era: str) -> None:
    where = [endpoint.url, "--transport", "http", "--header", f"Authorization: {endpoint.authorization}"]
    call = ["--method", "tools/call", "--tool-name", "execute", "--tool-args-json", json.dumps({"code": CODE})]
    seen = run_json(world, package(INSPECTOR, "--cli", "--protocol-era", era, *where, "--format", "json", "-q", *call))
    [block] = seen["result"]["content"]
    assert json.loads(block["text"])["value"] == "UTC"


def test_the_first_generation_of_the_sdk_is_served(world: World, endpoint: Endpoint) -> None:
    args = [str(PACKAGES), json.dumps(CALLS), endpoint.url, endpoint.authorization]
    assert_served(run_json(world, node(SCRIPTS / "sdk_v1.mjs", *args)))


@pytest.mark.parametrize(("era", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_second_generation_of_the_sdk_is_served_in_its_era(
    world: World, endpoint: Endpoint, era: str, revision: str
) -> None:
    args = [str(PACKAGES), json.dumps(CALLS), endpoint.url, endpoint.authorization]
    seen = run_json(world, node(SCRIPTS / "sdk_v2.mjs", *args), ERA=era)
    assert seen["revision"] == revision
    assert_served(seen)


@pytest.mark.parametrize(("era", "revision"), [("modern", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_python_sdk_is_served_in_its_era(endpoint: Endpoint, era: str, revision: str) -> None:
    async def play() -> dict[str, Any]:
        http = create_mcp_http_client(headers={"Authorization": endpoint.authorization})
        transport = streamable_http_client(endpoint.url, http_client=http)
        async with http, Client(transport, mode=ERAS[era]) as client:
            assert client.protocol_version == revision
            listed = await client.list_tools()
            results = [await client.call_tool(**call) for call in CALLS]
            seen = [result.model_dump(mode="json", by_alias=True) for result in results]
            return {"server": client.server_info.name, "tools": [tool.name for tool in listed.tools], "results": seen}

    assert_served(anyio.run(play))


def test_claude_code_connects(world: World, endpoint: Endpoint) -> None:
    added = claude(world, "mcp", "add-json", "-s", "user", "limbeck", json.dumps(endpoint.entry()))
    assert added.returncode == 0, added.stderr
    listed = claude(world, "mcp", "list")
    assert "Connected" in listed.stdout, listed.stdout


def test_a_client_of_pipes_is_served_through_mcp_remote(world: World, endpoint: Endpoint) -> None:
    remote = package(
        MCP_REMOTE,
        *(endpoint.url, "--allow-http", "--transport", "http-only"),
        *("--header", f"Authorization:{endpoint.authorization}"),
    )
    assert_served(run_json(world, node(SCRIPTS / "sdk_v1.mjs", str(PACKAGES), json.dumps(CALLS), *remote)))
