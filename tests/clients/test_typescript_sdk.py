"""Both generations of the TypeScript SDK as clients; the Python SDK is the client of tests/real."""

import json
from typing import Any

import pytest

from clients import PACKAGES, SCRIPTS, limbeck_serve, node, run_json
from sdk import CALLS, assert_served
from world import World


def drive(world: World, script: str, **environment: str) -> dict[str, Any]:
    """Lists, makes the calls and leaves; what the script saw."""
    args = [str(PACKAGES), json.dumps(CALLS), *limbeck_serve(world)]
    return run_json(world, node(SCRIPTS / script, *args), **environment)


def test_the_first_generation_is_served(world: World) -> None:
    assert_served(drive(world, "sdk_v1.mjs"))


@pytest.mark.parametrize(("era", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_second_generation_is_served_in_its_era(world: World, era: str, revision: str) -> None:
    seen = drive(world, "sdk_v2.mjs", ERA=era)

    assert seen["revision"] == revision
    assert_served(seen)
