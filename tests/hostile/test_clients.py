"""Clients that misbehave on standard input and output. The healthy server behind must still answer programs."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from peer import META, Peer
from processes import family, wait_until, wait_until_none_is_left
from siege import GATEWAY_TOKEN, GROWTH_KIB_MAX, assert_clean, peak_kib, server
from world import LIMBECK, MARK, World

ERAS = ("legacy", "modern")
PROBE = "return await tools.healthy.echo({ n: 1 });"
MIB = 1 << 20
# Longest a gateway may take to end when its client left: half of what its program would take.
SOON_S = 30.0
# Time after its last line in which a client that closes its end is surely no pipe that was filled and waits for its
# answers: those close it right behind the line (25 ms, see `surface/stdio.rs`).
QUIET_S = 0.1
# Longest it may take until a server receives the cancellation of a call: less than the call's own limit.
CANCELLED_S = 20.0

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


@contextmanager
def served(world: World, era: str = "legacy", *, shakes_hands: bool = True) -> Iterator[Peer]:
    """A gateway for a client that may do anything; at the end it still serves, and leaves nothing behind."""
    config = world.config({"healthy": server("healthy", **{MARK: world.mark})})
    options = ("--config", str(config), "--no-discover")
    with Peer(world, era, *options, GATEWAY_TOKEN=GATEWAY_TOKEN) as peer:
        if shakes_hands:
            peer.handshake()
            assert peer.execute(PROBE)["value"] == {"n": 1}
        calm_kib = peak_kib(peer.pid)
        yield peer
        if peer.process.poll() is None:
            assert peer.execute(PROBE)["value"] == {"n": 1}
            assert peak_kib(peer.pid) - calm_kib <= GROWTH_KIB_MAX
            before = family(peer.pid, world.mark)
            assert peer.close() == 0, world.log.read_text()[-2000:]
            wait_until_none_is_left(before, peer.pid, world.mark)
        assert_clean(world, peer)


def execute(code: str, **more: Any) -> dict[str, Any]:
    """Parameters of a call of `execute`."""
    return {"name": "execute", "arguments": {"code": code, **more}}


@pytest.mark.parametrize(
    "line", ["not json", "{", '{"jsonrpc":"2.0","id":1', "\x00", "\ufeff", "Content-Length: 2\r", "'", "[1,", "", " "]
)
@pytest.mark.parametrize("era", ERAS)
def test_u01_a_line_that_is_no_json_costs_nothing_but_itself(world: World, era: str, line: str) -> None:
    with served(world, era) as peer:
        peer.write_line(line)


@pytest.mark.parametrize("line", ["not json", "{", '"\\ud800"', "[" * 1000, '{"jsonrpc":"2.0","id":1}{}', "\x00"])
def test_u01_a_line_that_is_no_json_is_answered_with_no_id(world: World, line: str) -> None:
    with served(world) as peer:
        peer.write_line(line)
        wait_until(lambda: nameless(peer) == [PARSE_ERROR], "the line is answered")


def nameless(peer: Peer) -> list[int]:
    """Codes of the errors that are about no request."""
    answers = [json.loads(line) for line in list(peer.lines)]
    return [answer["error"]["code"] for answer in answers if "error" in answer and answer.get("id") is None]


def test_u01_a_line_without_end_is_not_kept_and_the_next_is_read(world: World) -> None:
    with served(world) as peer:
        for _ in range(64):
            peer.write("x" * MIB)
        wait_until(lambda: nameless(peer) == [INVALID_REQUEST], "the line is answered before it ends")
        peer.write_line("")


def test_u01_half_a_line_and_then_the_end_ends_the_gateway_and_what_runs(world: World) -> None:
    with served(world) as peer:
        peer.send("tools/call", execute("await new Promise(() => setTimeout(() => {}, 60_000));"))
        peer.write('{"jsonrpc":"2.0","id":')
        before = family(peer.pid, world.mark)
        assert peer.close() == 0
        wait_until_none_is_left(before, peer.pid, world.mark)


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        '{"jsonrpc":"2.0","id":7001,"method":"ping"}{"jsonrpc":"2.0","id":7002,"method":"ping"}',
        "5",
        "null",
        '"x"',
    ],
)
def test_u02_batches_and_values_that_are_no_request_cost_nothing_but_themselves(world: World, line: str) -> None:
    with served(world) as peer:
        peer.write_line(line)


@pytest.mark.parametrize("id", ["null", "1.5", "{}", "[]", "true", '"' + "i" * MIB + '"', "9007199254740993"])
def test_u03_odd_ids_are_answered_as_they_are_or_not_at_all(world: World, id: str) -> None:
    with served(world) as peer:
        peer.write_line(f'{{"jsonrpc":"2.0","id":{id},"method":"ping"}}')
        assert peer.execute(PROBE)["value"] == {"n": 1}
        echoed = [json.loads(line).get("id") for line in peer.lines]
        assert 9007199254740992 not in echoed, "an id lost its last digit"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", ["", "no/such", "tools/call/", "x" * MIB, "\u202e", "__proto__"])
def test_u04_a_method_nobody_has_is_refused_by_code(world: World, era: str, method: str) -> None:
    with served(world, era) as peer:
        answer = peer.wait(peer.send(method, {}))
        assert answer["error"]["code"] in (METHOD_NOT_FOUND, INVALID_REQUEST)
        # The refusal repeats the beginning of the method.
        assert len(json.dumps(answer)) < 1 << 10


@pytest.mark.parametrize("line", ['{"id":8001,"method":"ping"}', '{"jsonrpc":"1.0","id":8002,"method":"ping"}'])
def test_u04_a_request_of_another_protocol_is_not_served(world: World, line: str) -> None:
    with served(world) as peer:
        peer.write_line(line)
        assert peer.execute(PROBE)["value"] == {"n": 1}
        served_ids = [message["id"] for message in map(json.loads, peer.lines) if "result" in message]
        assert not {8001, 8002} & set(served_ids)


def test_u05_a_call_before_any_handshake_is_refused_or_ends_it_and_runs_nothing(world: World) -> None:
    with served(world, shakes_hands=False) as peer:
        peer.write_line(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute("return 1;")}))
        wait_until(lambda: peer.process.poll() is not None or bool(peer.answers(1)), "it is refused")
        if peer.process.poll() is None:
            assert "error" in peer.wait(1)
            peer.process.kill()
            peer.process.wait()
    assert world.limbeck_json("executions")["executions"] == []


def test_u05_a_second_handshake_changes_nothing(world: World) -> None:
    with served(world) as peer:
        again = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        peer.wait(peer.send("initialize", again))


def test_u05_a_version_nobody_speaks_is_answered_with_one_that_is(world: World) -> None:
    with served(world, shakes_hands=False) as peer:
        asked = {"protocolVersion": "2999-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        offered = peer.ask("initialize", asked)["protocolVersion"]
        assert offered in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
        peer.notify("notifications/initialized", {})


def test_u05_a_modern_request_of_a_version_nobody_speaks_is_refused_with_those_that_are(world: World) -> None:
    with served(world, "modern") as peer:
        meta = {**META, "io.modelcontextprotocol/protocolVersion": "2999-01-01"}
        line = {"jsonrpc": "2.0", "id": 9001, "method": "tools/list", "params": {"_meta": meta}}
        peer.write_line(json.dumps(line))
        error = peer.wait(9001)["error"]
        assert error["code"] == -32022
        assert "2026-07-28" in json.dumps(error["data"])


# Arguments of `execute` that are a mistake, and what the refusal must name.
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no code": ({}, "code"),
    "code of a wrong type": ({"code": 5}, "code"),
    "300 KiB of code": ({"code": "//" + "x" * (300 << 10)}, "262144"),
    "an unknown language": ({"code": "1", "language": "cobol"}, "language"),
    "no time at all": ({"code": "1", "timeout_ms": 0}, "timeout_ms"),
    "negative time": ({"code": "1", "timeout_ms": -1}, "timeout_ms"),
    "an unknown option": ({"code": "1", "sandbox": "off"}, "sandbox"),
    "tools that are not a list": ({"code": "1", "tools": "*"}, "tools"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_u06_a_mistaken_execute_is_refused_by_name_and_nothing_runs(world: World, mistake: str) -> None:
    arguments, named = MISTAKES[mistake]
    with served(world) as peer:
        before = len(world.limbeck_json("executions")["executions"])
        answer = peer.wait(peer.send("tools/call", {"name": "execute", "arguments": arguments}))
        words = json.dumps(answer)
        assert named in words and len(words) < 4 << 10, words
        assert "error" in answer or answer["result"]["isError"], answer
        assert len(world.limbeck_json("executions")["executions"]) == before


def test_u06_more_time_than_there_is_becomes_what_there_is_and_that_is_said(world: World) -> None:
    with served(world) as peer:
        envelope = peer.execute("return 1;", timeout_ms=1e12)
        assert envelope["value"] == 1
        assert envelope["warnings"] == ["timeout_ms 1000000000000 is outside 1 to 300000; used 300000"]


@pytest.mark.parametrize("code", ["", "   \n", "// nothing", "\x00"])
def test_u06_code_that_does_nothing_is_said_to_or_runs(world: World, code: str) -> None:
    with served(world) as peer:
        answer = peer.wait(peer.send("tools/call", execute(code)))
        assert "result" in answer or answer["error"]["code"] == INVALID_PARAMS


def test_u06_tools_of_a_request_only_ever_narrow(world: World) -> None:
    with served(world) as peer:
        envelope = peer.execute(PROBE, tools=["elsewhere.*"])
        assert envelope["status"] == "failed"
        assert peer.execute(PROBE, tools=["healthy.*"])["value"] == {"n": 1}


def test_u07_ten_thousand_calls_at_once_are_answered_each_and_the_surplus_is_told_busy(world: World) -> None:
    with served(world) as peer:
        ids = [peer.send("tools/call", execute("return input;", input=number)) for number in range(10_000)]
        envelopes = [json.loads(peer.wait(id)["result"]["content"][0]["text"]) for id in ids]
        busy = 0
        for number, envelope in enumerate(envelopes):
            if envelope["status"] == "completed":
                assert envelope["value"] == number
            else:
                assert envelope["error"]["kind"] == "busy", envelope
                busy += 1
        assert 0 < busy < 10_000
        assert all(len(peer.answers(id)) == 1 for id in ids)


@pytest.mark.parametrize("era", ERAS)
def test_u08_cancellations_of_what_is_not_under_way_are_ignored(world: World, era: str) -> None:
    with served(world, era) as peer:
        for number in range(20_000):
            peer.notify("notifications/cancelled", {"requestId": 1_000_000 + number})
        for odd in (None, "x", -1, 1.5, {}, []):
            peer.notify("notifications/cancelled", {"requestId": odd})


def test_u08_a_cancellation_ends_its_program_at_once_and_no_other(world: World) -> None:
    with served(world) as peer:
        doomed = peer.send("tools/call", execute("await new Promise(() => setTimeout(() => {}, 60_000));"))
        other = peer.send("tools/call", execute("await new Promise((done) => setTimeout(done, 500)); return 1;"))
        peer.ask("ping", {})
        peer.notify("notifications/cancelled", {"requestId": doomed})
        assert json.loads(peer.wait(other)["result"]["content"][0]["text"])["value"] == 1
        wait_until(
            lambda: sorted(row["status"] for row in world.limbeck_json("executions")["executions"])
            == ["cancelled", "completed", "completed"],
            "the program is cancelled",
        )


@pytest.mark.parametrize(
    "meta",
    [
        {"progressToken": None},
        {"progressToken": {"a": 1}},
        {"progressToken": "t" * MIB},
        {"traceparent": "garbage\x1b[31m"},
        {"baggage": "b" * MIB},
        {f"key{number}": number for number in range(100_000)},
    ],
    ids=["null token", "object token", "long token", "garbage trace", "long baggage", "many keys"],
)
def test_u09_odd_metadata_is_dropped_or_refused_and_never_logged(world: World, meta: dict[str, Any]) -> None:
    with served(world) as peer:
        answer = peer.wait(peer.send("tools/call", {**execute("return 1;"), "_meta": meta}))
        assert "result" in answer or answer["error"]["code"] == INVALID_PARAMS
    assert len(world.log.read_text()) < 4 << 10


@pytest.mark.parametrize("cursor", ["forged", "", "9" * MIB, 5])
@pytest.mark.parametrize("era", ERAS)
def test_u10_a_cursor_we_did_not_give_is_refused_or_means_the_only_page(world: World, era: str, cursor: Any) -> None:
    with served(world, era) as peer:
        answer = peer.wait(peer.send("tools/list", {"cursor": cursor}))
        if "error" in answer:
            assert answer["error"]["code"] == INVALID_PARAMS
        else:
            assert [tool["name"] for tool in answer["result"]["tools"]] == ["search", "execute"]


def test_u11_a_client_that_is_gone_ends_the_gateway_and_everything_below(world: World) -> None:
    with served(world) as peer:
        peer.send("tools/call", execute("await new Promise(() => setTimeout(() => {}, 60_000));"))
        peer.ask("ping", {})
        before = family(peer.pid, world.mark)
        peer.hang_up()
        peer.process.wait(60)
        wait_until_none_is_left(before, peer.pid, world.mark)


def test_u11_a_client_that_closes_its_end_ends_its_programs(world: World) -> None:
    with served(world) as peer:
        peer.send("tools/call", execute("await new Promise(() => setTimeout(() => {}, 60_000));"))
        sent = time.monotonic()
        wait_until(
            lambda: "running" in [row["status"] for row in world.limbeck_json("executions")["executions"]],
            "the program runs",
        )
        wait_until(lambda: time.monotonic() - sent > QUIET_S, "the client is quiet")
        before = family(peer.pid, world.mark)
        began = time.monotonic()
        assert peer.close() == 0
        assert time.monotonic() - began < SOON_S
        wait_until_none_is_left(before, peer.pid, world.mark)


@pytest.mark.parametrize("era", ERAS)
def test_u11_servers_receive_a_cancellation_when_the_client_has_left(world: World, era: str) -> None:
    notes = world.root / "notes"
    notes.touch()
    config = world.config({"patient": server("patient", timeout_ms=30_000, NOTES=str(notes), **{MARK: world.mark})})
    with Peer(world, era, "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        peer.send("tools/call", execute("return await tools.patient.wait({});"))
        wait_until(lambda: "called" in notes.read_text(), "the call reaches its server")
        wait_until(lambda: time.monotonic() - times(notes)["called"] > QUIET_S, "the client is quiet")
        before = family(peer.pid, world.mark)
        left = time.monotonic()
        assert peer.close() == 0
        wait_until_none_is_left(before, peer.pid, world.mark)
    assert times(notes)["cancelled"] - left < CANCELLED_S, notes.read_text()


def times(notes: Path) -> dict[str, float]:
    """When what happened, by the notes of a patient server."""
    return {word: float(at) for word, at in map(str.split, notes.read_text().splitlines())}


@pytest.mark.parametrize("pause_ms", [0, 6_000], ids=["at once", "after longer than the SDK waits"])
def test_u11_what_a_closed_pipe_asked_for_is_answered(world: World, pause_ms: int) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}}
    program = f"await new Promise((done) => setTimeout(done, {pause_ms})); return 6 * 7;"
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": execute(program)},
    ]
    ran = subprocess.run(
        [LIMBECK, "serve", "--no-discover"],
        env=world.environment(),
        cwd=world.project,
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=30,
    )
    answers = {answer["id"]: answer for answer in map(json.loads, ran.stdout.splitlines())}
    assert ran.returncode == 0
    assert json.loads(answers[2]["result"]["content"][0]["text"])["value"] == 42


def test_u11_a_gateway_that_was_stopped_goes_on_when_it_may(world: World) -> None:
    with served(world) as peer:
        id = peer.send("tools/call", execute("return 1;"))
        os.kill(peer.pid, signal.SIGSTOP)
        second = peer.send("tools/call", execute("return 2;"))
        os.kill(peer.pid, signal.SIGCONT)
        peer.wait(id)
        peer.wait(second)


@pytest.mark.parametrize("state", ["forged", "e30.e30.e30", "x" * MIB])
def test_u12_a_state_we_did_not_give_is_refused(world: World, state: str) -> None:
    with served(world, "modern") as peer:
        again = {**execute("return await tools.healthy.echo({ n: 2 });"), "requestState": state}
        answer = peer.wait(peer.send("tools/call", {**again, "inputResponses": {}}))
        assert answer["error"]["code"] == INVALID_PARAMS, answer
        assert "requestState" in answer["error"]["message"]
        assert len(world.limbeck_json("executions")["executions"]) == 1, "only the first program ran"


def test_u13_answers_to_questions_we_never_asked_are_nobodys(world: World) -> None:
    with served(world) as peer:
        for id in (0, 1, "x", None, 10**9):
            result = {"action": "accept", "content": {"password": "x"}}
            peer.write_line(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}))
            peer.write_line(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "x"}}))
