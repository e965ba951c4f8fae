"""Several `limbeck serve` with one gateway: what a client gets when the gateway is killed, and who is let in."""

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gateway import ERAS
from killing import Recording
from peer import CLIENT, Peer
from processes import family, wait_until
from world import World

# The user without rights on every Linux.
OTHER_USER = 65534

# Calls are answered without asking, and `write` may write.
OPEN = '[policy]\npreset = "observe"\n[policy.classes]\n"rec.read" = "read"\n"rec.write" = "write"\n'

# Before each write a person is asked.
ASKING = OPEN + '[[policy.rule]]\nid = "writes"\neffect = "ask"\ntools = ["rec.write"]\n'


def write(id: str) -> dict[str, Any]:
    code = f"return (await tools.rec.write({{ id: {json.dumps(id)} }})).done"
    return {"name": "execute", "arguments": {"code": code}}


def gateway_socket(world: World) -> Path:
    [found] = (world.home / ".local/state/limbeck/gateways").glob("*.sock")
    return found


def two(stack: ExitStack, world: World, era: str) -> tuple[Peer, Peer]:
    """A gateway with its client, and the client of a pipe to it: who answers first has been elected."""
    peers = []
    for _ in range(2):
        peer = stack.enter_context(Peer(world, era))
        peer.handshake()
        peers.append(peer)
    return peers[0], peers[1]


def asking(peer: Peer) -> Peer:
    """The client of a peer can show a form to its user."""
    asked = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": CLIENT}
    peer.ask("initialize", asked)
    peer.notify("notifications/initialized", {})
    return peer


@pytest.mark.parametrize("era", sorted(ERAS))
def test_a_write_in_flight_at_a_kill_is_told_as_one_that_may_have_happened(world: World, era: str) -> None:
    recording = Recording(world, OPEN)
    with ExitStack() as stack, recording.held():
        gateway, other = two(stack, world, era)
        sent = other.send("tools/call", write("one"))
        listed = other.ask("tools/list", {})
        assert [tool["name"] for tool in listed["tools"]][:2] == ["search", "execute"]
        wait_until(lambda: len(recording.received()) == 1, "the server has the call")
        assert family(other.pid, "none") == set(), "a pipe has no process of its own"

        gateway.process.kill()
        gateway.process.wait()
        answer = other.wait(sent)

        [execution] = recording.executions()
        assert execution["status"] == "needs_reconciliation"
        assert answer["result"]["isError"] is True, answer
        text = answer["result"]["content"][0]["text"]
        for part in (execution["id"], "a write may have happened", "limbeck executions", "limbeck reconcile"):
            assert part in text, text
        assert len(other.answers(sent)) == 1
    # The same process serves on, and repeats nothing.
    assert other_works(world, recording)


def other_works(world: World, recording: Recording) -> bool:
    with Peer(world, "legacy") as client:
        client.handshake()
        assert client.execute("return (await tools.rec.write({ id: 'two' })).done")["value"] == "write two"
    assert [call["id"] for call in recording.received()] == ["one", "two"]
    return True


def test_a_gateway_that_is_told_to_end_hands_its_clients_over(world: World) -> None:
    recording = Recording(world, OPEN)
    with ExitStack() as stack:
        gateway, other = two(stack, world, "legacy")
        assert other.execute("return (await tools.rec.read({ id: 'a' })).done")["value"] == "read a"
        gateway.process.terminate()
        assert gateway.process.wait() == 0
        assert other.execute("return (await tools.rec.read({ id: 'b' })).done")["value"] == "read b"
        assert other.close() == 0
    assert [call["id"] for call in recording.received("read")] == ["a", "b"]


def test_a_question_and_a_cancellation_reach_the_client_of_their_request(world: World) -> None:
    recording = Recording(world, ASKING)
    with ExitStack() as stack:
        gateway, other = (asking(stack.enter_context(Peer(world, "legacy"))) for _ in range(2))
        sent = other.send("tools/call", write("one"))

        def questions(peer: Peer) -> list[dict[str, Any]]:
            messages = (json.loads(line) for line in list(peer.lines))
            return [message for message in messages if message.get("method") == "elicitation/create"]

        wait_until(lambda: len(questions(other)) == 1, "the client is asked")
        assert questions(gateway) == []
        other.write_line(json.dumps({"jsonrpc": "2.0", "id": questions(other)[0]["id"], "result": {"action": "decline"}}))
        assert "denied" in json.dumps(other.wait(sent))
        assert recording.received() == []

        # A request that its client cancels ends at the gateway.
        endless = other.send("tools/call", {"name": "execute", "arguments": {"code": "await new Promise((done) => setTimeout(done, 50_000))"}})
        wait_until(lambda: recording.executions()[0]["status"] == "running", "it runs")
        other.notify("notifications/cancelled", {"requestId": endless})
        wait_until(lambda: recording.executions()[0]["status"] == "cancelled", "it was cancelled")
        # And so does one whose client leaves.
        other.send("tools/call", {"name": "execute", "arguments": {"code": "await new Promise((done) => setTimeout(done, 50_001))"}})
        wait_until(lambda: recording.executions()[0]["status"] == "running", "it runs")
        other.process.kill()
        wait_until(lambda: recording.executions()[0]["status"] == "cancelled", "it was cancelled")
        assert gateway.execute("return 1")["value"] == 1


CONNECT = """
import os, socket, sys
# The path of a socket has at most some hundred bytes.
directory, name = os.path.split(sys.argv[1])
os.chdir(directory)
os.setegid(int(sys.argv[2])), os.seteuid(int(sys.argv[2]))
with socket.socket(socket.AF_UNIX) as peer:
    peer.settimeout(20)
    peer.connect(name)
    try:
        peer.sendall(b'{"limbeck":"health"}\\n')
        print(peer.recv(4096).decode() or "closed")
    except ConnectionError:
        print("closed")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_another_user_is_not_let_in(world: World) -> None:
    Recording(world, OPEN)
    with Peer(world, "legacy") as gateway:
        gateway.handshake()
        path = gateway_socket(world)
        directory = path.parent
        assert directory.stat().st_mode & 0o777 == 0o700
        assert path.stat().st_mode & 0o777 == 0o600

        def answer(user: int) -> str:
            command = [sys.executable, "-I", "-c", CONNECT, str(path), str(user)]
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

        # The control: the same process of the same user.
        assert '"status":"serving"' in answer(0)
        # The directory keeps it out.
        assert answer(OTHER_USER) == ""
        # And where it is open by mistake, the gateway does.
        for opened in (path, directory):
            opened.chmod(opened.stat().st_mode | 0o007)
        assert answer(OTHER_USER) == "closed"
        assert '"status":"serving"' in answer(0)


def test_a_process_that_refuses_is_not_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(world, OPEN)
    with Peer(world, "legacy") as gateway:
        gateway.handshake()
        path = gateway_socket(world)
        assert gateway.close() == 0
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(path.parent)
        listener.bind(path.name)
        listener.listen()
        with Peer(world, "legacy") as client:
            accepted, _ = listener.accept()
            assert json.loads(accepted.recv(4096))["limbeck"]["join"]["version"] == 1
            accepted.sendall(b'{"limbeck":{"refused":{"reason":"no"}}}\n')
            accepted.close()
            client.handshake()
            assert client.execute("return (await tools.rec.read({ id: 'a' })).done")["value"] == "read a"
    assert len(recording.received("read")) == 1
