"""Figures that a test measured, shown at the end of the run whether it passed or not."""

from collections.abc import Callable

import pytest

Measured = Callable[..., None]

_LINES = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LINES] = []


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Measured:
    """Notes named figures of a test."""

    def note(**figures: object) -> None:
        words = ", ".join(f"{name.replace('_', ' ')} {figure}" for name, figure in figures.items())
        request.config.stash[_LINES].append(f"{request.node.name}: {words}")

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in terminalreporter.config.stash[_LINES]:
        terminalreporter.write_line(f"measured in {line}")
