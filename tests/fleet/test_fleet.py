"""All servers at once: they are listed, called, killed one by one and called again, without effect on each other."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from figures import Measured
from fleet import CALLS, mark_of
from gateway import Gateway, envelope_of
from processes import Process, running, wait_until

# Two dozen interpreters on two cores; alone each takes one second.
LISTED_S_MAX = 60

# Error codes of calls that did not reach the server. Anything else is the server's own answer.
NOT_REACHED = {"server_unavailable", "connection_lost", "timeout", "unknown_tool", "unknown_server"}

CALL = """
try { return { value: await tools[input.server][input.tool](input.arguments) }; }
catch (error) { return { code: error.code ?? error.name, message: error.message }; }
"""


def call(fleet: Gateway, server: str) -> dict[str, Any]:
    """The server's call: its value, or the error's code and message."""
    tool, arguments = CALLS[server]
    return fleet.execute(CALL, input={"server": server, "tool": tool, "arguments": arguments}).value


def reaches(fleet: Gateway, server: str) -> bool:
    """Whether the server itself answers its call."""
    return call(fleet, server).get("code") not in NOT_REACHED


def states(fleet: Gateway) -> dict[str, tuple[str, int]]:
    """State and number of tools of every server."""
    listed = fleet.execute("return await servers();").value
    return {server["name"]: (server["state"], server["tools"]) for server in listed}


def processes_of(fleet: Gateway, server: str) -> list[Process]:
    """What runs of a server."""
    mark = mark_of(fleet.world, server)
    return [process for process in running().values() if process.carries(mark)]


def test_all_are_listed_at_once(fleet: Gateway, measured: Measured) -> None:
    began = time.monotonic()
    fleet.search("read a file")

    def all_are_listed() -> bool:
        now = states(fleet)
        return len(now) == len(CALLS) and all(state == "ready" and tools for state, tools in now.values())

    wait_until(all_are_listed, f"every server is listed: {states(fleet)}", LISTED_S_MAX)
    now = states(fleet)
    measured(servers=len(now), tools=sum(tools for _, tools in now.values()), seconds=round(time.monotonic() - began, 1))
    # Two servers have the same tool name in places; each call names its server.
    assert "tools.filesystem.read_text_file" in fleet.search("read a text file", limit=10)


def test_every_server_answers_its_call(fleet: Gateway) -> None:
    with ThreadPoolExecutor(8) as pool:
        outcomes = dict(zip(CALLS, pool.map(lambda server: call(fleet, server), CALLS), strict=True))
    lost = {server: outcome for server, outcome in outcomes.items() if outcome.get("code") in NOT_REACHED}
    assert not lost
    assert outcomes["everything"] == {"value": "Echo: x"}
    assert outcomes["motherduck"]["value"]


@pytest.mark.parametrize("server", sorted(CALLS))
def test_killing_a_server_costs_nobody_else_and_the_next_call_finds_a_new_one(fleet: Gateway, server: str) -> None:
    others = [other for other in ("everything", "filesystem", "memory", "time", "motherduck") if other != server]
    assert reaches(fleet, server)
    before = processes_of(fleet, server)
    assert before, "nothing runs of the server"
    alive = {other: processes_of(fleet, other) for other in others}

    for process in before:
        os.kill(process.pid, signal.SIGKILL)
    for other in others:
        outcome = call(fleet, other)
        assert "value" in outcome, (other, outcome)

    wait_until(lambda: not set(before) & set(processes_of(fleet, server)), "the killed are gone")
    assert reaches(fleet, server)
    assert processes_of(fleet, server)
    assert {other: processes_of(fleet, other) for other in others} == alive


def test_calls_are_served_while_half_of_the_fleet_crashes_again_and_again(fleet: Gateway, measured: Measured) -> None:
    steady = ["everything", "filesystem", "memory", "time"]
    crashing = sorted(set(CALLS) - set(steady))[::2]
    ends = threading.Event()
    served: list[str] = []

    def serve() -> None:
        while not ends.is_set():
            for server in steady:
                outcome = call(fleet, server)
                assert "value" in outcome, (server, outcome)
                served.append(server)

    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(serve)
        for _ in range(2):
            for server in crashing:
                for process in processes_of(fleet, server):
                    os.kill(process.pid, signal.SIGKILL)
            began = len(served)
            wait_until(lambda: serving.done() or len(served) >= began + 20, "calls are served")
            for server in crashing:
                wait_until(lambda: reaches(fleet, server), f"`{server}` is there again")
        ends.set()
        serving.result()
    measured(crashed=2 * len(crashing), served=len(served))


def test_a_call_under_way_ends_with_its_server_and_no_other_does(fleet: Gateway) -> None:
    sign = fleet.world.files / "under-way"
    assert reaches(fleet, "everything")
    ran = fleet.start(
        """
        const settle = (call) => call.then((value) => ({ value }), ({ code }) => ({ code }));
        const doomed = settle(tools.everything["trigger-long-running-operation"]({ duration: 50, steps: 1 }));
        await tools.filesystem.write_file({ path: input, content: "" });
        const code = (await doomed).code;
        return { code, others: await Promise.all([tools.memory.read_graph(), tools.motherduck.list_databases()]) };
        """,
        input=str(sign),
    )
    wait_until(sign.exists, "the call is in flight")

    for process in processes_of(fleet, "everything"):
        os.kill(process.pid, signal.SIGKILL)

    value = envelope_of(ran.result(30)).value
    assert value["code"] == "connection_lost"
    assert len(value["others"]) == 2
    assert reaches(fleet, "everything")
