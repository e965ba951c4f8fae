"""Realistic Python programs on our engine and on native CPython; see `corpus` for what a program looks like.

`LIMBECK_BIN` names another binary than `target/debug/limbeck`. A single program runs with
`python3 -m pytest tests/python -k topic/name`, and without pytest `python3 tests/python/reference.py` runs all
of them natively.
"""

from collections.abc import Iterator

import pytest

from corpus import programs
from engine import LIMBECK, Engine


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `program` runs once for each."""
    if "program" in metafunc.fixturenames and not any(
        mark.name == "parametrize" for mark in metafunc.definition.iter_markers()
    ):
        metafunc.parametrize("program", programs(), ids=lambda program: program.name)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One gateway for all programs."""
    if not LIMBECK.is_file():
        pytest.fail(f"{LIMBECK} is missing; build it or set LIMBECK_BIN")
    with Engine(tmp_path_factory.mktemp("engine")) as engine:
        yield engine
