"""What users of three earlier systems keep when they put `limbeck serve` in the place of their own server.

`cargo xtask test` runs the tests; afterwards a single one runs with `.tools/venv/bin/python -m pytest tests/successors -k NAME`.
`LIMBECK_BIN` names another binary. Each test is named after one of the migration tests of the compatibility contract, or after the
part of it that it shows. The client is a few lines of JSON-RPC: the clients of the earlier systems send the same.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from client import LIMBECK, Client

SERVER = Path(__file__).parent / "stub_server.py"


def pytest_configure() -> None:
    if not LIMBECK.is_file():
        raise pytest.UsageError(f"{LIMBECK} is missing; build it or set LIMBECK_BIN")


def stub(kind: str) -> dict[str, object]:
    """Entry of a stub server: `filesystem` has a few tools, `many` has 300."""
    return {"command": sys.executable, "args": ["-I", str(SERVER), kind]}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Client]]:
    """Starts gateways in homes of their own, and ends them with the module."""
    clients: list[Client] = []

    def started(
        *arguments: str,
        servers: Sequence[str] | Mapping[str, str] = ("filesystem",),
        file: str = ".mcp.json",
        disabled: Collection[str] = (),
        **variables: str,
    ) -> Client:
        """`servers` are kinds, or kinds by the names of their entries; `file` has them, from the home."""
        root = tmp_path_factory.mktemp("world")
        kinds = servers if isinstance(servers, Mapping) else {name: name for name in servers}
        entries = {name: stub(kind) for name, kind in kinds.items()}
        for name in disabled:
            entries[name]["disabled"] = True
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text(json.dumps({"mcpServers": entries}))
        path = os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"])
        # A person has accepted the repository's file.
        environment = {"HOME": str(root), "PATH": path, "LIMBECK_TRUST_PROJECT": "1", **variables}
        process = subprocess.Popen(
            [LIMBECK, "serve", *arguments],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(root / "stderr").open("w"),
            text=True,
        )
        client = Client(process, root)
        clients.append(client)
        client.open()
        return client

    yield started
    for client in clients:
        client.close()
