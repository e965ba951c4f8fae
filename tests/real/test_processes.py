"""Servers that fail cost their own calls; a gateway that ends in any way leaves no process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway import ERAS, Gateway, envelope_of, serve_config
from peer import Peer
from processes import Process, family, running, wait_until, wait_until_none_is_left
from world import LIMBECK, MARK, World, entry, program

# A user without rights, where the test runs as root.
UNPRIVILEGED = 65534

EVERY_SERVER = """
return await Promise.all([
  tools.filesystem.list_allowed_directories(),
  tools.memory.read_graph(),
  tools.everything.echo({ message: "x" }),
  tools["sequential-thinking"].sequentialthinking({ thought: "x", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false }),
  tools.git.git_log({ repo_path: input }),
  tools.time.get_current_time({ timezone: "UTC" }),
]);
"""

SETTLE = """
const settle = async (call) => {
  try { return { value: await call() }; }
  catch (error) { return { error: { ...error, message: error.message } }; }
};
"""


def everything_runs(peer: Peer, world: World) -> None:
    repository = world.repository("any")
    repository.commit("a", "a", "first")
    envelope = peer.execute(EVERY_SERVER, input=str(repository.path))
    assert envelope["status"] == "completed", envelope
    commands = [process.command for process in family(peer.pid, world.mark)]
    for server in ("filesystem", "memory", "everything", "sequential-thinking", "git", "time"):
        assert any(server in command for command in commands), (server, commands)


def test_no_server_is_started_before_a_call_needs_it_and_only_that_one_then(world: World) -> None:
    config = world.config(world.servers())
    with Peer(world, "legacy", "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        peer.ask("tools/list", {})
        assert peer.execute("return 1;")["value"] == 1
        assert not of_world(world)

        assert peer.execute('return await tools.everything.echo({ message: "x" });')["value"] == "Echo: x"
        [server] = of_world(world)
        assert "server-everything" in server.command
        assert peer.close() == 0


def test_closing_stdin_ends_every_server_and_worker(world: World) -> None:
    config = world.config(world.servers())
    with Peer(world, "legacy", "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        everything_runs(peer, world)
        before = family(peer.pid, world.mark)

        assert peer.close() == 0
        wait_until_none_is_left(before, peer.pid, world.mark)


def test_killing_the_gateway_leaves_no_server_and_no_worker(world: World) -> None:
    config = world.config(world.servers())
    with Peer(world, "legacy", "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        everything_runs(peer, world)
        before = family(peer.pid, world.mark)

        peer.process.kill()
        peer.process.wait()
        wait_until_none_is_left(before, peer.pid, world.mark)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda end: end.name)
def test_a_program_that_computes_and_a_call_under_way_do_not_outlive_the_gateway(
    world: World, end: signal.Signals
) -> None:
    config = world.config(world.only("everything", "filesystem"))
    sign = world.files / "computes"
    forever = "await tools.filesystem.write_file({ path: input, content: '' }); while (true) {}"
    waiting = 'await tools.everything["trigger-long-running-operation"]({ duration: 50 });'
    with Peer(world, "legacy", "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        peer.execute('return await tools.everything.echo({ message: "warm" });')
        peer.send("tools/call", {"name": "execute", "arguments": {"code": waiting}})
        peer.send("tools/call", {"name": "execute", "arguments": {"code": forever, "input": str(sign)}})
        wait_until(sign.exists, "the program runs")
        before = family(peer.pid, world.mark)
        assert any("everything" in process.command for process in before), "nothing was running"

        os.kill(peer.pid, end)
        peer.process.wait(10)
        wait_until_none_is_left(before, peer.pid, world.mark)


@pytest.mark.parametrize("era", sorted(ERAS))
def test_a_program_that_does_not_exist_costs_only_its_own_calls(world: World, era: str) -> None:
    servers = world.only("everything", "time") | {"absent": {"command": "does-not-exist", "args": ["--flag"]}}
    with serve_config(world, era, world.config(servers)) as gateway:
        value = gateway.execute(
            SETTLE
            + """
            return await Promise.all([
              settle(() => tools.absent.anything({})),
              settle(() => tools.everything.echo({ message: "x" })),
              settle(() => tools.time.get_current_time({ timezone: "UTC" })),
            ]);
            """
        ).value

        absent, echo, time = value
        assert absent["error"]["code"] == "server_unavailable"
        assert absent["error"]["server"] == "absent"
        assert "`does-not-exist`" in absent["error"]["message"]
        assert echo["value"] == "Echo: x"
        assert time["value"]["timezone"] == "UTC"
        found = gateway.search("echo a message back")
        assert "tools.everything.echo" in found


def test_a_server_that_exits_at_once_is_told_with_its_status_and_last_words(world: World) -> None:
    complaint = 'console.error("the key FOO_TOKEN is missing"); process.exit(3)'
    servers = world.only("everything") | {"broken": entry([program("node"), "-e", complaint])}
    with serve_config(world, "legacy", world.config(servers)) as gateway:
        value = gateway.execute(
            SETTLE
            + 'return [await settle(() => tools.broken.anything({})), await settle(() => tools.everything.echo({ message: "x" }))];'
        ).value

    broken, echo = value
    assert broken["error"]["code"] == "server_unavailable"
    assert "the key FOO_TOKEN is missing" in broken["error"]["message"]
    assert "exit status: 3" in broken["error"]["message"]
    assert echo["value"] == "Echo: x"


def test_a_server_that_dies_under_a_call_fails_that_call_and_is_started_again(world: World) -> None:
    config = world.config(world.only("everything", "filesystem"))
    sign = world.files / "under-way"
    with serve_config(world, "legacy", config) as gateway:
        assert gateway.execute('return await tools.everything.echo({ message: "1" });').value == "Echo: 1"
        [server] = [process for process in of_world(world) if "server-everything" in process.command]

        under_way = gateway.start(
            SETTLE
            + """
            const long = settle(() => tools.everything["trigger-long-running-operation"]({ duration: 50, steps: 1 }));
            await tools.filesystem.write_file({ path: input, content: "" });
            return await long;
            """,
            input=str(sign),
        )
        wait_until(sign.exists, "the program runs")
        os.kill(server.pid, signal.SIGKILL)
        envelope = envelope_of(under_way.result(timeout=20))

        error = envelope.value["error"]
        assert error["code"] == "connection_lost", error
        assert error["server"] == "everything"
        assert is_usable_again(gateway)


def of_world(world: World) -> list[Process]:
    """The servers of a world that run."""
    return [process for process in running().values() if process.carries(world.mark)]


def is_usable_again(gateway: Gateway) -> bool:
    """Whether the server answers; after a crash the gateway pauses before it restarts a server."""

    def answers() -> bool:
        envelope = gateway.execute('return await tools.everything.echo({ message: "2" });')
        return envelope.raw.get("value") == "Echo: 2"

    wait_until(answers, "the server was started again", 15)
    return True


# It takes neither the end of its input nor a request to end, and has a child in a session of its own.
STUBBORN = """
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
tool = {"name": "work", "inputSchema": {"type": "object"}}
info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "stubborn", "version": "1"}}
for line in sys.stdin:
    request = json.loads(line)
    if request.get("method") == "tools/call":
        subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        open(sys.argv[1], "w").close()
        while True:
            time.sleep(600)
    results = {"initialize": info, "tools/list": {"tools": [tool]}}
    if "id" in request:
        found = request["method"] in results
        answer = {"result": results[request["method"]]} if found else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""


def others_may_execute(file: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (file.resolve(), *file.resolve().parents))


def users() -> list[str]:
    """Whom a gateway of a test may run as: root takes the id of another user, where that one can execute the binary."""
    return ["own", "unprivileged"] if os.getuid() == 0 and others_may_execute(LIMBECK) else ["own"]


def python_of(user: str) -> str:
    """An interpreter that `user` can execute: the one of the tests may be in root's home, Debian's is not."""
    found = [Path(sys.executable), Path("/usr/bin/python3")]
    return str(next(python for python in found if user == "own" or (python.exists() and others_may_execute(python))))


@pytest.mark.parametrize("user", users())
def test_a_server_that_works_does_not_outlive_a_gateway_that_is_killed(world: World, user: str) -> None:
    sign = world.files / "works"
    config = world.config({"stubborn": entry([python_of(user), "-I", "-c", STUBBORN], str(sign), **{MARK: world.mark})})
    drop: dict[str, int] = {}
    if user == "unprivileged":
        drop = {"user": UNPRIVILEGED, "group": UNPRIVILEGED}
        for path in (world.home, world.files, world.project, config):
            os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
        for path in (world.root, *world.root.parents):
            if not path.stat().st_mode & 0o001:
                path.chmod(path.stat().st_mode | 0o001)
    script = world.project / "work.ts"
    script.write_text("return await tools.stubborn.work({});")
    os.chmod(script, 0o644)
    gateway = subprocess.Popen(
        [LIMBECK, "run", str(script), "--config", str(config), "--no-discover"],
        env=world.environment(),
        cwd=world.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **drop,
    )
    wait_until(sign.exists, "the server works")
    before = family(gateway.pid, world.mark)
    assert any("sleep" in process.command for process in before), "nothing was running"
    gateway.kill()
    gateway.wait()
    wait_until_none_is_left(before, gateway.pid, world.mark)
