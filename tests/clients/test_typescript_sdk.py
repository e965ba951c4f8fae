"""Both generations of the TypeScript SDK as clients; the Python SDK is the client of tests/real."""

import json
from typing import Any

import pytest

from clients import PACKAGES, SCRIPTS, limbeck_serve, node, run_json
from world import World

CALLS = [
    {"name": "search", "arguments": {"queries": ["convert a time between zones"]}},
    {"name": "execute", "arguments": {"code": "return (await tools.memory.read_graph({})).entities.length;"}},
    {"name": "execute", "arguments": {"code": "return await tools.time.convert_time({ time: 12 });"}},
]


def drive(world: World, script: str, **environment: str) -> dict[str, Any]:
    """Lists, makes the calls and leaves; what the script saw."""
    args = [str(PACKAGES), json.dumps(CALLS), *limbeck_serve(world)]
    return run_json(world, node(SCRIPTS / script, *args), **environment)


def assert_served(seen: dict[str, Any]) -> None:
    """The script saw our tools, and each call did what it should."""
    assert seen["server"] == "limbeck"
    assert seen["tools"] == ["search", "execute"]
    [search, execute, refused] = seen["results"]
    assert "tools.time.convert_time(" in search["content"][0]["text"]
    assert json.loads(execute["content"][0]["text"])["value"] == 0
    assert refused["isError"] is True
    assert "tools.time.convert_time(" in json.loads(refused["content"][0]["text"])["error"]["hint"]


def test_the_first_generation_is_served(world: World) -> None:
    assert_served(drive(world, "sdk_v1.mjs"))


@pytest.mark.parametrize(("era", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_second_generation_is_served_in_its_era(world: World, era: str, revision: str) -> None:
    seen = drive(world, "sdk_v2.mjs", ERA=era)

    assert seen["revision"] == revision
    assert_served(seen)
