"""The container image, built by Podman on a base of this machine's C library and run there.

`apt-get install podman runc` is what it needs; without Podman the tests are skipped and counted as such. No registry is asked:
the base is imported from files.
"""

import json
import os
import resource
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import LIMBECK

PODMAN = shutil.which("podman")
RUNC = shutil.which("runc")

pytestmark = pytest.mark.skipif(not (PODMAN and RUNC), reason="needs podman and runc")

CONFINED = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", "/tmp:mode=1777"]


class Engine:
    """Podman with a store of its own, and what this machine makes necessary."""

    def __init__(self, directory: Path, context: Path) -> None:
        self.context = context
        self.store = [f"--root={directory}/store", f"--runroot={directory}/run", "--storage-driver=vfs"]
        self.image = "localhost/limbeck:test"

    def podman(self, *arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        command = [PODMAN, *self.store, f"--runtime={RUNC}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    def run(self, *arguments: str, options: tuple[str, ...] = (), **more: object) -> subprocess.CompletedProcess[str]:
        """Runs a command of Limbeck in a new container."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limits = [f"--ulimit=nofile={files}:{files}", "--ulimit=nproc=4096:4096"]
        return self.podman(
            "run", "--rm", "--interactive", "--network=none", "--cgroupns=host", *limits, *options, self.image, *arguments, **more
        )

    @property
    def profile(self) -> tuple[str, str]:
        """The option with the system calls that Limbeck needs."""
        return "--security-opt", f"seccomp={self.context}/limbeck-seccomp.json"


def base(directory: Path) -> Path:
    """A file system with what the executable is linked with."""
    root = directory / "base"
    linked = subprocess.run(["ldd", LIMBECK], capture_output=True, text=True, check=True).stdout
    libraries = [word for line in linked.splitlines() for word in line.split() if word.startswith("/")]
    assert libraries, linked
    for library in libraries:
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, target)
        target.chmod(0o755)
    (root / "tmp").mkdir(mode=0o1777)
    archive = directory / "base.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(root, arcname=".")
    return archive


@pytest.fixture(scope="module")
def engine(packages: Path, version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The image, built from the package."""
    directory = tmp_path_factory.mktemp("image")
    [archive] = packages.glob(f"limbeck-{version}-image-linux-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(directory, filter="data")
    [context] = directory.glob("limbeck-*-image-*")
    engine = Engine(directory, context)
    imported = engine.podman("import", base(directory), "localhost/base:test")
    assert imported.returncode == 0, imported.stderr
    built = engine.podman(
        "build", "--format=docker", "--pull=never", "--build-arg", "BASE=localhost/base:test", "--tag", engine.image, context
    )
    assert built.returncode == 0, built.stderr
    yield engine
    engine.podman("rmi", "--all", "--force")


def test_the_image_is_strict_with_our_profile_for_any_user(engine: Engine) -> None:
    program = "return 1 + 1"
    for user in ("65532:65532", "12345:12345"):
        options = (*CONFINED, *engine.profile, "--user", user, "--env", "LIMBECK_STATE_DIR=/tmp/state")
        looked = engine.run("doctor", "--sandbox", "--json", options=options)
        report = json.loads(looked.stdout)
        assert (report["tier"], report["ok"]) == ("strict", True), looked
        assert all(probe["outcome"] != "reached" for probe in report["probes"])
        ran = engine.run("run", "-", "--json", options=options, input=program)
        assert json.loads(ran.stdout)["value"] == 2, ran
        assert "warnings" not in json.loads(ran.stdout)


def test_without_the_layers_no_program_runs_unless_a_floor_allows_it(engine: Engine, tmp_path: Path) -> None:
    # As under Docker's own profile: no namespaces. Ours without the calls that make them replaces it here.
    profile = json.loads((engine.context / "limbeck-seccomp.json").read_text())
    denied = {"unshare", "mount", "pivot_root", "umount2", "sethostname"}
    profile["syscalls"][0]["names"] = [name for name in profile["syscalls"][0]["names"] if name not in denied]
    narrow = tmp_path / "narrow.json"
    narrow.write_text(json.dumps(profile))
    options = (*CONFINED, "--security-opt", f"seccomp={narrow}", "--env", "LIMBECK_STATE_DIR=/tmp/state")

    refused = engine.run("run", "-", "--json", options=options, input="return 1")
    assert refused.returncode == 4, refused
    error = json.loads(refused.stdout)["error"]
    assert "`strict` is the minimum" in error["message"] and "doctor" in error["hint"]

    def floor(*layers: str) -> tuple[str, ...]:
        directory = tmp_path / "-".join(layers) / "limbeck"
        directory.mkdir(parents=True)
        (directory / "config.toml").write_text(f"[sandbox]\nrequire_layers = {json.dumps(layers)}\n")
        return "--volume", f"{directory.parent}:/config:ro"

    ran = engine.run("run", "-", "--json", options=(*options, *floor("seccomp", "landlock")), input="return 1")
    envelope = json.loads(ran.stdout)
    assert envelope["value"] == 1, ran
    assert any("sandbox tier `wasm`" in warning for warning in envelope["warnings"])
    refused = engine.run("run", "-", "--json", options=(*options, *floor("seccomp", "empty_root")), input="return 1")
    assert "without empty_root" in json.loads(refused.stdout)["error"]["message"], refused


def test_the_container_serves_and_its_health_is_known(engine: Engine) -> None:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    started = engine.podman(
        "run", "--detach", "--name=serving", "--network=none", "--cgroupns=host",
        f"--ulimit=nofile={files}:{files}", "--ulimit=nproc=4096:4096", *CONFINED, *engine.profile, engine.image,
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    try:
        limit = time.monotonic() + 60
        while (health := engine.podman("exec", "serving", "/usr/bin/limbeck", "health", "--json")).returncode != 0:
            assert time.monotonic() < limit, (health, engine.podman("logs", "serving"))
            time.sleep(0.1)
        [gateway] = json.loads(health.stdout)["gateways"]
        assert gateway["status"] == "serving" and gateway["address"].startswith("https://0.0.0.0:8080"), gateway
        over_http = engine.podman("exec", "serving", "/usr/bin/limbeck", "health", "--http", "8080")
        assert over_http.returncode == 0, over_http
        assert engine.podman("exec", "serving", "/usr/bin/limbeck", "health", "--http", "8081").returncode == 1
        refused = engine.podman("exec", "serving", "/usr/bin/limbeck", "setup", "--yes")
        assert refused.returncode == 2 and "container" in refused.stderr, refused
    finally:
        engine.podman("rm", "--force", "serving")
