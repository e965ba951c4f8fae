"""Standard output contains only protocol messages for every program."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gateway import ERAS
from peer import Peer
from processes import family, wait_until, wait_until_none_is_left
from world import World

CALLS = 200
IN_FLIGHT = 24

# Expected kind of the answer: a result, a result with `isError`, or a JSON-RPC error.
Expected = str


def execute(code: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": "execute", "arguments": {"code": code, **more}}


def mixture(era: str) -> list[tuple[Expected, Callable[[int], tuple[str, dict[str, Any]]]]]:
    """Ten kinds of requests, each made from a number so that no two are alike."""
    alive: tuple[str, dict[str, Any]] = ("ping", {}) if era == "legacy" else ("server/discover", {})
    return [
        ("result", lambda n: execute(f"return {n} + 1;")),
        (
            "result",
            lambda n: execute(
                f'console.log("{{\\"jsonrpc\\":\\"2.0\\"}}", {n}); console.error("\\n\\n"); '
                f'return await tools.everything.echo({{ message: "{n}\\n\\u2028" }});'
            ),
        ),
        ("isError", lambda n: execute(f'throw new Error("thrown {n}");')),
        ("isError", lambda n: execute(f"return {n} +;")),
        ("isError", lambda n: execute("while (true) {}", timeout_ms=20 + n % 10)),
        ("isError", lambda n: execute(f"await tools.everything.echo({{ wrong: {n} }});")),
        (
            "result",
            lambda n: ("tools/call", {"name": "search", "arguments": {"queries": [f"read file {n}"]}}),
        ),
        ("error", lambda n: ("tools/call", {"name": f"no_such_tool_{n}", "arguments": {}})),
        ("result", lambda _: alive),
        ("cancelled", lambda n: execute(f"await new Promise((done) => setTimeout(done, 60_000 + {n}));")),
    ]


def kind_of(answer: dict[str, Any]) -> Expected:
    if "error" in answer:
        return "error"
    return "isError" if answer["result"].get("isError") else "result"


@pytest.mark.parametrize("era", sorted(ERAS))
def test_two_hundred_mixed_calls_leave_only_json_rpc_on_stdout_and_no_process(world: World, era: str) -> None:
    config = world.config(world.only("everything", "filesystem"))
    kinds = mixture(era)
    sent: dict[int, Expected] = {}
    with Peer(world, era, "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        handshakes = 1
        waiting: list[int] = []
        for number in range(CALLS):
            expected, make = kinds[number % len(kinds)]
            id = peer.send(*make(number))
            sent[id] = expected
            if expected == "cancelled":
                peer.notify("notifications/cancelled", {"requestId": id, "reason": "changed my mind"})
                continue
            waiting.append(id)
            if len(waiting) > IN_FLIGHT:
                peer.wait(waiting.pop(0))
        for id in waiting:
            peer.wait(id)
        alive = family(peer.pid, world.mark)
        assert any("everything" in process.command for process in alive), "nothing was running"
        code = peer.close()

        assert code == 0, world.log.read_text()
        messages = [json.loads(line) for line in peer.lines]
        assert all(message["jsonrpc"] == "2.0" for message in messages)
        answered = Counter(message["id"] for message in messages if "method" not in message)
        for id, expected in sent.items():
            # A request that was cancelled may be answered or not; twice is wrong for all.
            assert answered[id] in ((0, 1) if expected == "cancelled" else (1,)), (id, expected)
            if expected != "cancelled":
                [answer] = peer.answers(id)
                assert kind_of(answer) == expected, (expected, answer)
        assert sum(answered.values()) - handshakes <= CALLS
        wait_until_none_is_left(alive, peer.pid, world.mark)

    statuses = Counter(row["status"] for row in executions(world))
    assert statuses.keys() == {"completed", "failed", "cancelled"}
    assert statuses["completed"] == 2 * CALLS // len(kinds)
    assert statuses["failed"] == 4 * CALLS // len(kinds)


def test_a_cancelled_execution_ends_long_before_its_program_would(world: World) -> None:
    config = world.config(world.only("everything"))
    with Peer(world, "legacy", "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        peer.execute('return await tools.everything.echo({ message: "warm" });')
        id = peer.send(
            *execute('return await tools.everything["trigger-long-running-operation"]({ duration: 50 });')
        )
        # One that is cancelled before it begins leaves no row.
        wait_until(lambda: len(executions(world)) == 2, "the second execution has begun")
        peer.notify("notifications/cancelled", {"requestId": id})
        assert peer.execute("return 1;")["value"] == 1
        assert peer.close() == 0

    [_, cancelled, control] = sorted(executions(world), key=lambda row: row["id"])
    assert cancelled["status"] == "cancelled"
    assert cancelled["took_us"] < 10_000_000
    assert control["status"] == "completed"


@pytest.mark.parametrize(
    "line", ["not json", "[]", "{}", '{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}', ""]
)
def test_a_line_that_is_no_request_costs_nothing_but_itself(world: World, line: str) -> None:
    with Peer(world, "legacy", "--no-discover") as peer:
        peer.handshake()
        peer.write_line(line)
        assert peer.execute("return 1;")["value"] == 1
        assert peer.close() == 0
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in peer.lines)


def executions(world: World) -> list[dict[str, Any]]:
    return world.limbeck_json("executions", "--limit", "1000")["executions"]
