"""Runs the official conformance suite, `@modelcontextprotocol/conformance`, and reads what it found."""

import json
import os
import re
import subprocess
from collections import Counter
from contextlib import contextmanager
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = Path(os.environ.get("LIMBECK_CONFORMANCE", REPOSITORY / ".tools/conformance")) / "node_modules"
BUILT = Path(os.environ.get("LIMBECK_BUILT", REPOSITORY / "target/debug"))

# A directory of the suite's: `server-NAME-2026-11-21T13-12-24-023Z`; those of client scenarios have no prefix.
DETAILS = re.compile(r"(?:server-)?(.*)-\d{4}-\d\d-\d\dT")
REVISIONS = ["2025-11-25", "2026-07-28"]
# Longest run of all scenarios of one revision.
PATIENCE_S = 300
# Longest run of one scenario of a client, on a machine that does much else.
SCENARIO_MS = 120_000


def built(name: str) -> str:
    """A program of this repository."""
    path = BUILT / name
    assert path.is_file(), f"{path} is missing; `cargo xtask test` builds it"
    return str(path)


def limbeck() -> str:
    """The binary under test."""
    return os.environ.get("LIMBECK_BIN") or built("limbeck")


def node() -> str:
    """The Node that the lock file pins; the suite runs on no older one."""
    found = sorted(PACKAGES.glob("node-*/bin/node"))
    assert found, f"no Node in {PACKAGES}; `cargo xtask test` installs it"
    return str(found[0])


@contextmanager
def serving(*command: str) -> Iterator[str]:
    """Runs a program that prints the address it serves, and gives the address."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), f"{command} printed {address!r}"
        yield address
    finally:
        process.terminate()
        process.wait(10)


@dataclass(frozen=True)
class Run:
    """What one run of the suite found."""

    scenarios: dict[str, Counter[str]]
    failed: list[str]
    output: str
    ok: bool

    @property
    def passed_checks(self) -> int:
        """Checks that were made and held."""
        return sum(checks["SUCCESS"] for checks in self.scenarios.values())


def required(revision: str, side: str) -> list[str]:
    """Names of the scenarios that a revision requires of a `server` or a `client`, as the suite lists them."""
    listed = conformance("list", "--requirements", revision).stdout
    wanted, names = False, []
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            wanted = line.lower().startswith(f"{side} scenarios")
        elif wanted and line.startswith("  - "):
            names.append(line.removeprefix("  - "))
    return names


def run(address: str, directory: Path, *arguments: str) -> Run:
    """Judges the server at `address`; `directory` gets the details."""
    return judge(directory, "server", "--url", address, *arguments)


def judge(directory: Path, *arguments: str) -> Run:
    """Runs a test command of the suite."""
    done = conformance(*arguments, "-o", str(directory))
    scenarios, failed = {}, []
    for details in sorted(directory.rglob("checks.json")):
        name = DETAILS.match(str(details.parent.relative_to(directory)))[1]
        checks = json.loads(details.read_text())
        # Well-formed messages alone do not pass a scenario.
        scenarios[name] = Counter(check["status"] for check in checks if check["id"] != "wire-schema-valid")
        failed += [
            f"{name}:{check['id']}: {check.get('errorMessage')}" for check in checks if check["status"] == "FAILURE"
        ]
    return Run(scenarios, failed, done.stdout + done.stderr, done.returncode == 0)


def conformance(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the suite's command line to its end."""
    script = PACKAGES / "@modelcontextprotocol/conformance/dist/index.js"
    return subprocess.run(
        [node(), str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
