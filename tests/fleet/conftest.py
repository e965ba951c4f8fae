"""Two dozen third-party servers behind one built `limbeck serve`.

`cargo xtask test` installs them and runs these tests; afterwards a single one runs with
`.tools/venv/bin/python -m pytest tests/fleet -k NAME`. `LIMBECK_BIN` names another binary. Linux only: processes are
found in `/proc`.
"""

from collections.abc import Iterator

import pytest

from fleet import NODE_PACKAGES, PYTHON_SCRIPTS, servers
from gateway import Gateway, serve_config
from world import LIMBECK, World

pytest_plugins = ["figures"]


def pytest_configure() -> None:
    for needed in (LIMBECK, NODE_PACKAGES, PYTHON_SCRIPTS):
        if not needed.exists():
            raise pytest.UsageError(f"{needed} is missing; `cargo xtask test` makes it")


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway over all of them; nothing is started yet."""
    world = World(tmp_path_factory.mktemp("fleet"))
    with serve_config(world, "modern", world.config(servers(world))) as gateway:
        yield gateway
