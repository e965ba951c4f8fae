"""Each package is built of `LIMBECK_BIN`, installed from the built file into an empty place and run there.

`cargo xtask test` runs them; afterwards a single one runs with
`.tools/packages/venv/bin/python -m pytest tests/packages -k NAME`. No package manager reaches a network: npm installs from
a registry on the loopback, uv and dpkg from the file.
"""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMBECK = Path(os.environ.get("LIMBECK_BIN", ROOT / "target/debug/limbeck"))
XTASK = ROOT / "target/debug/xtask"


def pytest_configure() -> None:
    for needed in (LIMBECK, XTASK):
        if not needed.exists():
            raise pytest.UsageError(f"{needed} is missing; `cargo xtask test` makes it")


@pytest.fixture(scope="session")
def packages() -> Path:
    """The directory of packages, all built of one executable."""
    names = ["archive", "npm", "wheel", "deb", "mcpb", "image", "homebrew", "registry"]
    built = subprocess.run(
        [XTASK, "package", *names, "--executable", LIMBECK], cwd=ROOT, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    # It names what it wrote, in the order asked for: npm makes two files.
    written = [Path(line) for line in built.stdout.splitlines()]
    assert len(written) == len(names) + 1, built.stdout
    assert all(path.is_file() for path in written), written
    return written[0].parent


@pytest.fixture(scope="session")
def version() -> str:
    """The version that all packages have."""
    output = subprocess.run([LIMBECK, "--version"], capture_output=True, text=True, check=True)
    return output.stdout.split()[1]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user with an empty home."""
    directory = tmp_path / "home"
    directory.mkdir()
    return {"HOME": str(directory), "PATH": os.environ["PATH"]}
