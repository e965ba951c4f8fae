"""Wrong files and command lines with the real binary: each is rejected with a place and a reason."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peer import Peer
from siege import CONTROLS, server
from world import LIMBECK, World

SECRET = "CANARY-config-0123456789abcdef"
# Longest a command may take before it counts as one that does not end.
HANG_S = 60


def refusal(world: World, path: Path, *more: str) -> str:
    """Standard error of the binary for a file that it rejects; it exits with 2 and starts nothing."""
    began = time.monotonic()
    ran = world.limbeck("tools", "--config", str(path), "--no-discover", *more)
    assert ran.returncode == 2, (ran.returncode, ran.stdout, ran.stderr)
    assert time.monotonic() - began < HANG_S
    assert ran.stdout == ""
    assert not CONTROLS.search(ran.stderr), ran.stderr
    assert SECRET not in ran.stderr
    assert len(ran.stderr) < 4 << 10
    return ran.stderr


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    # A path of a socket has at most 107 bytes, and the world's is longer.
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        Path.mkdir,
        fifo,
        unix_socket,
        link_to("/dev/zero"),
        link_to("/proc/self/mem"),
        link_to("itself.json"),
    ],
    ids=["missing", "directory", "fifo", "socket", "device", "memory", "loop"],
)
def test_c01_c03_what_is_no_regular_file_is_refused_without_waiting(
    world: World, make: Callable[[Path], None]
) -> None:
    path = world.root / "itself.json"
    make(path)
    assert "itself.json" in refusal(world, path)


def entry_of(**fields: Any) -> str:
    """A file with one server."""
    return json.dumps({"mcpServers": {"a": fields}})


# Row, content, and a part of the error with the place.
CONTENTS: list[tuple[str, str | bytes, str]] = [
    ("c04", "", ":1:1: is empty"),
    ("c04", " \n ", "is empty"),
    ("c04", "\ufeff", "is empty"),
    *(("c04", text, ":1:1: expected an object") for text in ("null", "[]", '"x"', "0")),
    ("c05", '{"mcpServers": {', ":1:"),
    ("c05", "{'mcpServers': {}}", "single-quoted strings"),
    ("c05", entry_of(command="x", timeout=1).replace("1}", "NaN}"), ":1:"),
    ("c06", '{"mcpServers":{}}'.encode("utf-16"), "UTF-16"),
    ("c06", b'{"mcpServers":{"\xe9":{}}}', "not UTF-8 at byte"),
    ("c06", b'{"mcpServers":{"a\x00":{}}}', "NUL character at byte"),
    ("c06", r'{"mcpServers":{"a":{"command":"\ud800"}}}', ":1:"),
    ("c07", '{"mcpServers":{},\n"mcpServers":{}}', "appears twice, first on line 1"),
    ("c07", '{"mcpServers":{"a":{"command":"x"},\n"a":{"command":"y"}}}', "appears twice, first on line 1"),
    ("c07", '{"mcpServers":{"a":{"command":"x",\n"command":"y"}}}', "appears twice, first on line 1"),
    ("c09", entry_of(command="x", args="a b"), "`mcpServers.a.args`: expected a list"),
    ("c09", entry_of(command="x", env=[]), "`mcpServers.a.env`: expected an object"),
    ("c09", entry_of(command="x", timeout="80"), "`mcpServers.a.timeout`"),
    *(("c10", entry_of(command="x", timeout=edge), "from 1 to 3600000") for edge in (0, -1, 1.5, 2**31, 2**63)),
    ("c11", '{"mcpServers":' * 100_000, "nest"),
    ("c11", " " * (5 << 20), "4194304"),
    ("c11", json.dumps({"mcpServers": {f"s{n}": {"command": "x"} for n in range(513)}}), "512"),
    *(("c13", json.dumps({"mcpServers": {name: {"command": "x"}}}), "visible") for name in ("", "n" * 65, "a\x1b[31m")),
    ("c13", json.dumps({"mcpServers": {"a\u202eb": {"command": "x"}}}), "visible"),
    ("c14", entry_of(command="x", url="https://a.example"), "both a command and a url"),
    ("c14", entry_of(), "neither"),
    *(
        ("c14", entry_of(url=url), "`mcpServers.a.url`")
        for url in ("file:///etc/passwd", "javascript:1", "https://u:p@a.example", "https://a.example/#x")
    ),
    ("c15", entry_of(command=""), "`mcpServers.a.command`"),
    ("c16", entry_of(command="x", args=["\0"]), "has a NUL"),
    ("c17", entry_of(command="x", env={"A=B": "c"}), "is not a valid variable name"),
]


@pytest.mark.parametrize(
    ("content", "expected"), [case[1:] for case in CONTENTS], ids=[f"{row}-{n}" for n, (row, *_) in enumerate(CONTENTS)]
)
def test_c04_to_c17_a_file_that_says_nothing_usable_is_refused_at_its_place(
    world: World, content: str | bytes, expected: str
) -> None:
    path = world.root / "broken.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = refusal(world, path)
    assert "broken.json" in words and expected in words, words


def test_c08_a_misspelt_key_of_our_own_file_is_an_error_with_the_right_one(world: World) -> None:
    path = world.root / "limbeck.toml"
    path.write_text('[sandbox]\nminimum_teir = "strict"\n')
    assert "did you mean `minimum_tier`?" in refusal(world, path)


@pytest.mark.parametrize("command", ["a; touch pwned", "$(touch pwned)", "`touch pwned`", "touch pwned"])
def test_c15_a_command_never_meets_a_shell(world: World, command: str) -> None:
    config = world.config({"a": {"command": command, "args": ["$(touch pwned)", "; touch pwned"]}})
    ran = world.limbeck("tools", "--config", str(config), "--no-discover")
    assert "holds arguments as well" in ran.stderr
    assert not list(world.root.rglob("pwned"))


@pytest.mark.parametrize("args", [["x" * 3_000_000], ["x"] * 100_000])
def test_c16_more_arguments_than_a_system_takes_are_said_or_passed(world: World, args: list[str]) -> None:
    config = world.config({"a": {**server("healthy"), "args": [*server("healthy")["args"], *args]}})
    ran = world.limbeck("tools", "--config", str(config), "--no-discover")
    assert "Argument list too long" in ran.stderr or "ready" in ran.stdout
    assert len(ran.stderr) < 4 << 10


def test_c18_a_variable_that_is_not_set_keeps_its_server_from_starting(world: World) -> None:
    entry = server("healthy", TOKEN="${NOT_SET_ANYWHERE}")
    ran = world.limbeck("tools", "--config", str(world.config({"a": entry})), "--no-discover")
    assert "NOT_SET_ANYWHERE" in ran.stderr


def test_c19_a_secret_in_a_file_is_never_repeated(world: World) -> None:
    entry = server("h14", "before", HOSTILE_ERA="legacy", API_KEY=SECRET)
    config = world.config({"a": entry})
    for command in (("tools",), ("tools", "--json"), ("doctor",), ("doctor", "--json"), ("tools", "--log", "trace")):
        ran = world.limbeck(*command, "--config", str(config), "--no-discover")
        assert "licence" in ran.stdout + ran.stderr
        assert SECRET not in ran.stdout + ran.stderr, command


def test_c12_yaml_is_not_read_and_said_so(world: World) -> None:
    path = world.root / "servers.yaml"
    calls = "!!python/object/apply:os.system ['touch pwned']\n"
    for text in ("mcpServers:\n  a:\n    command: x\n", "a: &a [*a, *a]\n", calls):
        path.write_text(text)
        assert "servers.yaml:1:" in refusal(world, path)
    assert not list(world.root.rglob("pwned"))


def test_c14_a_url_in_the_clear_costs_its_own_entry_alone_and_says_what_to_add(world: World) -> None:
    entries = {"clear": {"url": "http://a.example/mcp"}, "healthy": server("healthy")}
    options = ("--config", str(world.config(entries)), "--no-discover")
    reports = {report["name"]: report for report in world.limbeck_json("tools", *options)["servers"]}
    assert (reports["clear"]["state"], reports["healthy"]["state"]) == ("failed", "ready")
    assert "allow_http" in reports["clear"]["next_step"]
    assert "unencrypted" in reports["clear"]["error"]
    doctor = world.limbeck("doctor", *options)
    assert doctor.returncode == 1 and "allow_http" in doctor.stderr


def test_c22_a_file_that_changes_changes_nothing_of_a_gateway_that_runs(world: World) -> None:
    config = world.config({"healthy": server("healthy")})
    with Peer(world, "modern", "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        names = "return (await servers()).map(({ name }) => name);"
        assert peer.execute(names)["value"] == ["healthy"]
        world.config({"other": server("healthy"), "healthy": {"command": "touch", "args": [str(world.root / "pwned")]}})
        assert peer.execute("return await tools.healthy.echo({ n: 1 });")["value"] == {"n": 1}
        assert peer.execute(names)["value"] == ["healthy"]
        config.write_text("{")
        assert peer.execute("return await tools.healthy.echo({ n: 2 });")["value"] == {"n": 2}
        assert peer.close() == 0
    assert not (world.root / "pwned").exists()


def test_c23_a_file_includes_no_other(world: World) -> None:
    world.config({"other": server("healthy")}, "other.json")
    path = world.root / "including.json"
    for key in ("include", "includes", "extends", "$ref"):
        path.write_text(json.dumps({key: ["other.json", "including.json"], "mcpServers": {"own": {"command": "x"}}}))
        listed = world.limbeck_json("tools", "--config", str(path), "--no-discover")["servers"]
        assert [report["name"] for report in listed] == ["own"]


@pytest.mark.parametrize("directory", ["/nowhere/at/all", "/dev/null", ""])
def test_g04_the_temporary_directory_is_not_used(world: World, directory: str) -> None:
    program = world.root / "program.ts"
    program.write_text("return 6 * 7;")
    ran = subprocess.run(
        [LIMBECK, "run", str(program), "--no-discover"],
        env=world.environment(TMPDIR=directory, TMP=directory, TEMP=directory),
        cwd=world.project,
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout) == (0, "42\n"), ran.stderr


def test_c28_a_state_directory_nobody_can_write_is_said_and_programs_run(world: World) -> None:
    program = world.root / "program.ts"
    program.write_text("return 6 * 7;")
    ran = world.limbeck("run", str(program), "--no-discover", "--state-dir", "/dev/full/state")
    assert (ran.returncode, ran.stdout) == (0, "42\n")
    assert "/dev/full/state" in ran.stderr


def test_c29_variables_that_are_no_text_are_refused_or_ignored(world: World) -> None:
    odd = {b"LIMBECK_LOG": b"\xff\xfe", b"LIMBECK_STATE_DIR": b"a\nb" * 1000}
    clean = {name.encode(): value.encode() for name, value in world.environment().items()}
    ran = subprocess.run([LIMBECK, "tools", "--no-discover"], env=clean | odd, cwd=world.project, capture_output=True)
    assert ran.returncode in (0, 2)
    assert b"panicked" not in ran.stderr


@pytest.mark.parametrize("args", [("--nonsense",), ("tools", "--config"), ("run",), ("call", "x"), ("tools", "--config=")])
def test_c30_a_command_line_that_is_wrong_ends_with_2_and_says_so(world: World, args: tuple[str, ...]) -> None:
    ran = world.limbeck(*args)
    assert ran.returncode == 2
    assert ran.stdout == "" and ran.stderr
