"""Hostile peers against the built `limbeck serve`, one behaviour each, beside a healthy server.

`cargo xtask test` runs them with the Python it installs; afterwards a single one runs with
`.tools/venv/bin/python -m pytest tests/hostile -k d10`. `LIMBECK_BIN` names another binary. Linux only: memory and
processes are read from `/proc`.

A test is named after the row of `docs/internals/bad-inputs.md` it shows. What must hold in every one of them, independent of the
hostile server does, is asserted by `siege.besieged`.
"""

from pathlib import Path

import pytest

from world import LIMBECK, World


def pytest_configure() -> None:
    if not LIMBECK.is_file():
        raise pytest.UsageError(f"{LIMBECK} is missing; build it or set LIMBECK_BIN")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world that no other test sees."""
    return World(tmp_path)
