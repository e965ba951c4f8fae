"""What an installed executable has to do, however it was installed."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "packages", "version": "1"},
    },
}


def check(command: Sequence[str | Path], version: str, environment: dict[str, str]) -> None:
    """`command` is Limbeck of `version`, serves a client and ends with its own exit codes."""

    def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], env=environment, capture_output=True, text=True, timeout=60, **options
        )

    named = run("--version")
    assert (named.returncode, named.stdout) == (0, f"limbeck {version}\n"), named.stderr
    assert run("run", "--no-such-option").returncode == 2
    # As a client starts it: without a command, on standard input and output.
    served = run(input=json.dumps(INITIALIZE) + "\n", cwd=environment["HOME"])
    answer = json.loads(served.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "limbeck", served
    assert served.returncode == 0, served.stderr
