"""Tests of the built `limbeck` with third-party MCP servers and a third-party client.

`cargo xtask test` installs what they need and runs them; afterwards a single one runs with
`.tools/venv/bin/python -m pytest tests/real -k NAME`. `LIMBECK_BIN` names another binary. Linux only:
processes are found in `/proc`.

Fixtures: one world per test, and one gateway over all six servers per era for those that may share.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import ERAS, Gateway, serve_config
from world import LIMBECK, World


def pytest_configure() -> None:
    if not LIMBECK.is_file():
        raise pytest.UsageError(f"{LIMBECK} is missing; build it or set LIMBECK_BIN")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world that no other test sees."""
    return World(tmp_path)


@pytest.fixture(scope="session", params=sorted(ERAS))
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway over all six servers, once per era. Tests that use it keep to names of their own."""
    world = World(tmp_path_factory.mktemp(f"world-{request.param}"))
    config = world.config(world.servers())
    with serve_config(world, request.param, config) as gateway:
        yield gateway
