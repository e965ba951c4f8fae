"""npm: the launcher and the package of a system, from a registry."""

import json
import os
import platform
import signal
import subprocess
from pathlib import Path

import pytest

from installed import INITIALIZE, check
from npm_registry import serving

CPU = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]


def _install(packages: Path, version: str, into: Path, home: dict[str, str], *options: str) -> Path:
    archives = [packages / f"limbeck-{version}.tgz", packages / f"limbeck-{version}-linux-{CPU}.tgz"]
    with serving("limbeck", archives) as registry:
        installed = subprocess.run(
            ["npm", "install", "--prefix", into, "--registry", registry, *options, "limbeck"],
            env=home,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert installed.returncode == 0, installed.stderr
    return into / "node_modules/.bin/limbeck"


@pytest.fixture(scope="module")
def installed(packages: Path, version: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("npm")
    home = {"HOME": str(tmp_path_factory.mktemp("home")), "PATH": os.environ["PATH"]}
    return _install(packages, version, into, home)


def test_the_installed_command_serves_a_client(installed: Path, version: str, home: dict[str, str]) -> None:
    check([installed], version, home)


def test_no_script_runs_at_installation(installed: Path) -> None:
    for package in ("limbeck", f"limbeck-linux-{CPU}"):
        assert "scripts" not in (installed.parents[1] / package / "package.json").read_text()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_executable_too(installed: Path, home: dict[str, str], sent: signal.Signals) -> None:
    launcher = subprocess.Popen(
        [installed, "serve"],
        env=home,
        cwd=home["HOME"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert launcher.stdin and launcher.stdout and launcher.stderr
    launcher.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    launcher.stdin.flush()
    assert b'"serverInfo"' in launcher.stdout.readline(), "the executable runs"
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    assert len(children) == 1, children
    launcher.send_signal(sent)
    ended = launcher.wait(timeout=30)
    assert ended in (0, -sent, 128 + sent), ended
    # Readable to its end only when no process has it open any more.
    launcher.stderr.read()
    assert not Path(f"/proc/{children[0]}").exists()


def test_a_missing_executable_is_explained(
    packages: Path, version: str, tmp_path: Path, home: dict[str, str]
) -> None:
    launcher = _install(packages, version, tmp_path / "without", home, "--omit=optional")
    refused = subprocess.run([launcher, "--version"], env=home, capture_output=True, text=True)
    assert refused.returncode == 1
    assert f"limbeck-linux-{CPU}" in refused.stderr
    assert "--omit=optional" in refused.stderr
