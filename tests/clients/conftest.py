"""Tests of third-party clients and bridges with the built `limbeck serve` behind them.

`cargo xtask test` installs what they need and runs them; afterwards a single one runs with
`.tools/venv/bin/python -m pytest tests/clients -k NAME`. `LIMBECK_BIN` names another binary. No client reaches a
network: models are scripted ones on the loopback.
"""

from pathlib import Path

import pytest

from clients import PACKAGES
from world import LIMBECK, World

pytest_plugins = ["figures"]


def pytest_configure() -> None:
    for needed in (LIMBECK, PACKAGES):
        if not needed.exists():
            raise pytest.UsageError(f"{needed} is missing; `cargo xtask test` makes it")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world that no other test sees."""
    return World(tmp_path)
