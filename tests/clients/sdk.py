"""Inputs and expected results of the scripts for the TypeScript SDKs."""

import json
from typing import Any

CALLS = [
    {"name": "search", "arguments": {"queries": ["convert a time between zones"]}},
    {"name": "execute", "arguments": {"code": "return (await tools.memory.read_graph({})).entities.length;"}},
    {"name": "execute", "arguments": {"code": "return await tools.time.convert_time({ time: 12 });"}},
]


def assert_served(seen: dict[str, Any]) -> None:
    """The script saw our tools, and each call did what it should."""
    assert seen["server"] == "limbeck"
    assert seen["tools"] == ["search", "execute"]
    [search, execute, refused] = seen["results"]
    assert "tools.time.convert_time(" in search["content"][0]["text"]
    assert json.loads(execute["content"][0]["text"])["value"] == 0
    assert refused["isError"] is True
    assert "tools.time.convert_time(" in json.loads(refused["content"][0]["text"])["error"]["hint"]
