"""A person at a terminal: the question of `limbeck trust`, output as it comes, tables within the width."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

from world import LIMBECK, PATIENCE_S, World


class Terminal:
    """A command of the binary whose standard streams are a terminal."""

    def __init__(self, world: World, columns: int, *args: str, typed: str = "", **environment: str) -> None:
        self.to, end = pty.openpty()
        # Input that waits for the command before it starts.
        self.type(typed)
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.child = subprocess.Popen(
            [LIMBECK, *args],
            env=world.environment(**{"TERM": "xterm", "NO_COLOR": "1", **environment}),
            cwd=world.project,
            stdin=end,
            stdout=end,
            stderr=end,
            start_new_session=True,
        )
        os.close(end)
        self.shown = ""

    def read(self) -> bool:
        """Reads what is there or comes next; false at the end."""
        try:
            data = os.read(self.to, 65_536)
        except OSError:
            return False
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)

    def until(self, text: str) -> None:
        began = time.monotonic()
        while text not in self.shown:
            assert self.read(), f"ended without {text!r}: {self.shown}"
            assert time.monotonic() - began < PATIENCE_S

    def type(self, text: str) -> None:
        os.write(self.to, text.encode())

    def end(self) -> int:
        while self.read():
            pass
        return self.child.wait(PATIENCE_S)


@contextmanager
def terminal(
    world: World, *args: str, columns: int = 80, typed: str = "", **environment: str
) -> Iterator[Terminal]:
    shown = Terminal(world, columns, *args, typed=typed, **environment)
    try:
        yield shown
    finally:
        if shown.child.poll() is None:
            shown.child.send_signal(signal.SIGKILL)
            shown.child.wait()
        os.close(shown.to)


def repository(world: World, value: str) -> Path:
    """A file of the repository that adds a server."""
    file = world.project / ".mcp.json"
    entry = {"command": str(LIMBECK), "args": ["demo-upstream"], "env": {"NOTE": value}}
    file.write_text(json.dumps({"mcpServers": {"shop": entry}}))
    return file


def state(world: World) -> str:
    return json.loads(world.limbeck("tools", "--json").stdout)["servers"][0]["state"]


def test_trust_asks_after_the_definition_was_shown(world: World) -> None:
    repository(world, "first  one")
    with terminal(world, "trust", "shop") as shown:
        shown.until("[y/N]")
        assert r'"first\s{2}one"' in shown.shown and "sha256" in shown.shown
        shown.type("no\n")
        assert shown.end() == 1
    assert state(world) == "untrusted"
    with terminal(world, "trust", "shop") as shown:
        shown.until("[y/N]")
        shown.type("y\n")
        assert shown.end() == 0
    assert state(world) == "ready"


def test_an_answer_that_was_typed_before_the_question_trusts_nothing(world: World) -> None:
    repository(world, "first")
    with terminal(world, "trust", "shop", typed="y\n") as shown:
        shown.until("[y/N]")
        # The question is still open: this is its first answer.
        shown.type("n\n")
        assert shown.end() == 1, shown.shown
        assert "nothing is trusted" in shown.shown
    assert state(world) == "untrusted"
    # The control: typed after it, the same answer counts.
    with terminal(world, "trust", "shop", typed="n\n") as shown:
        shown.until("[y/N]")
        shown.type("y\n")
        assert shown.end() == 0, shown.shown
    assert state(world) == "ready"


def test_a_definition_that_changes_while_it_is_shown_is_not_trusted(world: World) -> None:
    repository(world, "harmless")
    with terminal(world, "trust", "shop") as shown:
        shown.until("[y/N]")
        repository(world, "another")
        shown.type("y\n")
        assert shown.end() == 2
        assert "changed while it was shown" in shown.shown
    assert state(world) == "untrusted"


def test_the_output_of_a_program_is_shown_as_it_comes_and_once(world: World) -> None:
    program = world.project / "slow.ts"
    program.write_text("console.log('begun'); await new Promise(done => setTimeout(done, 50_000));")
    with terminal(world, "run", str(program), "--no-discover") as shown:
        # The program waits for its timer, so this is shown while it runs.
        shown.until("begun")
        shown.child.send_signal(signal.SIGINT)
        assert shown.end() == 130
        assert "interrupted" in shown.shown
    program.write_text("console.log('begun'); return 'ended'")
    with terminal(world, "run", str(program), "--no-discover") as shown:
        assert shown.end() == 0
        assert shown.shown.count("begun") == 1 and shown.shown.endswith("ended\n")


def test_a_table_fits_into_the_terminal(world: World) -> None:
    program = world.project / "program.ts"
    program.write_text("return 'a program with a long first line, longer than there is room for in a table';")
    for _ in range(3):
        assert world.limbeck("run", str(program), "--no-discover").returncode == 0
    for columns in (80, 120, 200):
        with terminal(world, "executions", columns=columns) as shown:
            assert shown.end() == 0
        lines = shown.shown.splitlines()
        assert len(lines) == 4, shown.shown
        assert max(map(len, lines)) <= columns, shown.shown
    # A shortened id is accepted.
    with terminal(world, "executions", columns=80) as shown:
        assert shown.end() == 0
    shortened = shown.shown.splitlines()[1].split()[0]
    assert len(shortened) < 35
    assert world.limbeck("executions", shortened).returncode == 0
    # The control: a pipe gets every column whole.
    assert max(map(len, world.limbeck("executions").stdout.splitlines())) > 120


def test_a_narrow_terminal_gets_fewer_columns_of_servers_and_short_ids_of_losses(world: World) -> None:
    entry = {"command": str(LIMBECK), "args": ["demo-upstream"]}
    (world.project / "shop.json").write_text(json.dumps({"mcpServers": {"shop": entry}}))
    options = ("--no-discover", "--config", "shop.json")
    for columns, wide in ((40, False), (80, True)):
        with terminal(world, "tools", *options, columns=columns) as shown:
            assert shown.end() == 0
        # The first start may say that it takes long.
        table = [line for line in shown.shown.splitlines() if line.startswith(("server", "shop"))]
        assert len(table) == 2 and ("protocol" in table[0]) == wide, shown.shown
        assert max(map(len, table)) <= columns, shown.shown
    program = world.project / "program.ts"
    program.write_text("return (await tools.shop.list_orders({ page: 999 })).items.length")
    assert world.limbeck("run", str(program), *options).returncode == 0
    with terminal(world, "ledger", columns=80) as shown:
        assert shown.end() == 0
    table = [line for line in shown.shown.splitlines() if line.startswith(("server ", "shop ", "id ", "ex_"))]
    assert len(table) == 4 and max(map(len, table)) <= 80, shown.shown
    shortened = next(line for line in shown.shown.splitlines() if line.startswith("ex_")).split()[0]
    assert len(shortened) < 35
    assert world.limbeck("executions", shortened).returncode == 0


def waiting_server(world: World, name: str) -> None:
    """A server that never answers."""
    entry = {"command": "sh", "args": ["-c", "while read line; do :; done"]}
    config = world.project / "waiting.json"
    config.write_text(json.dumps({"mcpServers": {name: entry}}))


def test_a_slow_command_says_what_it_waits_for(world: World) -> None:
    waiting_server(world, "slow")
    for command in (["tools"], ["types"], ["doctor"], ["search", "anything"]):
        with terminal(world, *command, "--no-discover", "--config", "waiting.json") as shown:
            # The server never answers, so this is shown while the command waits.
            shown.until("starting servers to list their tools")
            shown.child.send_signal(signal.SIGINT)
            assert shown.end() == 130, shown.shown
    with terminal(world, "call", "slow", "tool", "--no-discover", "--config", "waiting.json") as shown:
        shown.until("waiting for server `slow` …")
        shown.child.send_signal(signal.SIGINT)
        assert shown.end() == 130, shown.shown
    # The control: a command that does not wait says nothing of the kind.
    with terminal(world, "tools", "--no-discover") as shown:
        assert shown.end() == 0
    assert "starting servers" not in shown.shown


def test_a_long_wait_names_the_servers_that_have_not_answered(world: World) -> None:
    waiting_server(world, "slow")
    config = world.project / "waiting.json"
    servers = json.loads(config.read_text())
    servers["mcpServers"]["shop"] = {"command": str(LIMBECK), "args": ["demo-upstream"]}
    config.write_text(json.dumps(servers))
    for command in (["tools"], ["doctor"]):
        with terminal(world, *command, "--no-discover", "--config", "waiting.json") as shown:
            # The other server has answered by then.
            shown.until("waiting for `slow` …\n")
            shown.child.send_signal(signal.SIGINT)
            assert shown.end() == 130, shown.shown
        assert "not answered yet: `slow`\n" in shown.shown, shown.shown
        assert "shop" in shown.shown.split("waiting for `slow`")[1], shown.shown


def test_serve_says_what_it_waits_for(world: World) -> None:
    with terminal(world, "serve", "--no-discover") as shown:
        shown.until("waiting for an MCP client on standard input; end with Ctrl-C or Ctrl-D\n")
        shown.child.send_signal(signal.SIGINT)
        assert shown.end() == 0
    # The control: a client on pipes reads nothing of it.
    piped = world.limbeck("serve", "--no-discover")
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, "", "")


def test_times_are_local_and_states_have_a_color(world: World) -> None:
    program = world.project / "program.ts"
    program.write_text("return 1")
    assert world.limbeck("run", str(program), "--no-discover").returncode == 0
    program.write_text("throw new Error('no')")
    assert world.limbeck("run", str(program), "--no-discover").returncode == 1
    utc = [row["created_at"] for row in world.limbeck_json("executions")["executions"]]
    # Two and a half hours ahead of UTC, all year.
    with terminal(world, "executions", columns=200, TZ="XYZ-2:30", NO_COLOR="") as shown:
        assert shown.end() == 0
    header, *rows = shown.shown.splitlines()
    assert "when (+02:30)" in header and "asked by" in header
    for row, at in zip(rows, utc, strict=True):
        local = datetime.fromisoformat(at).astimezone(timezone(timedelta(hours=2, minutes=30)))
        assert local.strftime("%Y-%m-%d %H:%M:%S") in row
    assert "\x1b[31mfailed: exception\x1b[0m" in rows[0] and "\x1b[32mcompleted\x1b[0m" in rows[1]
    # The controls: no color where it is not wanted, and UTC without either in a pipe.
    with terminal(world, "executions", columns=200, TZ="XYZ-2:30") as shown:
        assert shown.end() == 0
    assert "\x1b" not in shown.shown and "completed" in shown.shown
    piped = world.limbeck("executions").stdout
    assert "\x1b" not in piped and "when (UTC)" in piped
