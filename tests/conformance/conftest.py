"""The official conformance suite against the MCP server side, and the fixture server it needs.

`cargo xtask test` installs the suite with its Node and builds the programs; afterwards a single test
runs with `.tools/venv/bin/python -m pytest tests/conformance -k NAME`.
"""

import pytest

import suite


def pytest_configure() -> None:
    if not suite.PACKAGES.is_dir():
        raise pytest.UsageError(f"{suite.PACKAGES} is missing; `cargo xtask test` installs it")
