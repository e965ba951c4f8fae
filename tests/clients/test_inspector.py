"""The MCP Inspector's command line: connects in every era, and looks at our schemas strictly."""

import json
from typing import Any

import pytest

from clients import INSPECTOR, limbeck_entry, package, run_json
from world import World


def inspect(world: World, era: str, *args: str) -> dict[str, Any]:
    """Connects, asks one thing and leaves; what it printed."""
    session = world.root / "inspector.json"
    session.write_text(json.dumps({"mcpServers": {"limbeck": limbeck_entry(world)}}))
    where = ["--config", str(session), "--server", "limbeck", "--protocol-era", era]
    return run_json(world, package(INSPECTOR, "--cli", *where, "--format", "json", "-q", *args))


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
def test_strict_finds_no_error_in_our_schemas(world: World, era: str) -> None:
    # It would end with 6 on an error.
    seen = inspect(world, era, "--strict", "--method", "tools/list")

    assert [tool["name"] for tool in seen["result"]["tools"]] == ["search", "execute"]
    found = [(tool["toolName"], finding["rule"]) for tool in seen["schemaFindings"] for finding in tool["findings"]]
    # `input` of `execute` is any JSON on purpose.
    assert found == [("execute", "untyped-schema")]


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
def test_a_program_is_run_and_its_envelope_is_the_text(world: World, era: str) -> None:
    code = """
    const times = { source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Tokyo" };
    return (await tools.time.convert_time(times)).time_difference;
    """
    call = ("--method", "tools/call", "--tool-name", "execute", "--tool-args-json", json.dumps({"code": code}))

    [block] = inspect(world, era, *call)["result"]["content"]

    assert json.loads(block["text"])["value"] == "+9.0h"
