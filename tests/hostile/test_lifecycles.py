"""Servers that crash, hang, flood, spy on their environment, or do not end."""

import json
import time
from pathlib import Path

import pytest

from peer import Peer
from processes import running, wait_until
from siege import HEALTHY_TOKEN, HOSTILE_TOKEN, besieged, server, words
from world import MARK, World


@pytest.mark.parametrize(
    ("mode", "status"),
    [
        ("exit0", "exit status: 0"),
        ("exit1", "exit status: 1"),
        ("kill", "signal: 9 (SIGKILL)"),
        ("half", "exit status: 1"),
    ],
)
def test_d14_a_crash_under_a_call_fails_its_call_and_the_call_is_not_repeated(
    world: World, mode: str, status: str
) -> None:
    with besieged(world, server("h14", mode, timeout_ms=20_000)) as siege:
        error = siege.call("echo").error
        assert (error["code"], error["retryable"]) == ("connection_lost", False)
        assert error["message"] == f"the connection to the server was lost during the call ({status})"
        assert "may have happened" in error["hint"]


def test_d14_a_server_that_dies_in_the_handshake_is_left_alone_for_a_while(world: World) -> None:
    with besieged(world, server("h14", "before", HOSTILE_ERA="legacy")) as siege:
        error = siege.call("echo").error
        assert (error["code"], error["retryable"]) == ("server_unavailable", True)
        assert "exit status: 3" in error["message"]
        assert "the licence has expired" in error["message"]
        assert "Not available: hostile" in siege.search("anything")
        starts = siege.call("echo").error["message"]
        assert "next try in" in starts


def test_d14_a_server_that_dies_behind_its_list_keeps_its_tools_and_its_calls_fail(world: World) -> None:
    with besieged(world, server("h14", "afterlist")) as siege:
        for _ in range(3):
            assert siege.call("echo").error["code"] in ("connection_lost", "server_unavailable")
        assert siege.tool_count() == 1


def test_d15_a_flood_on_standard_error_is_drained_bounded_and_shown_to_nobody(world: World) -> None:
    with besieged(world, server("h15", HOSTILE_SCALE="0.3")) as siege:
        for number in range(20):
            assert siege.call("echo", number=number).value == {"number": number}
        [hostile] = [process for process in running().values() if "h15_stderr" in process.command]
        wait_until(lambda: written(hostile.pid) >= 300 << 20, "the whole flood was taken")
    log = world.log.read_text()
    assert len(log) < 64 << 10
    assert "FORGED" not in log and HOSTILE_TOKEN not in log


def written(pid: int) -> int:
    """Bytes a process wrote so far."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def test_d16_a_flood_of_notifications_is_dropped_and_calls_are_served(world: World) -> None:
    with besieged(world, server("h16", timeout_ms=10_000)) as siege:
        received = len(siege.peer.lines)
        for number in range(10):
            assert siege.call("echo", number=number).value == {"number": number}
        assert siege.tool_count() == 51
        # The client received answers and a few list changes, not the flood.
        assert len(siege.peer.lines) - received < 10_000


@pytest.mark.parametrize("mode", ["call", "drip", "progress", "deaf"])
def test_d17_a_call_that_never_ends_times_out_whatever_keeps_it_alive(world: World, mode: str) -> None:
    with besieged(world, server("h17", mode, timeout_ms=700)) as siege:
        assert siege.call("echo").error["code"] == "timeout"


def test_d17_a_server_that_stops_reading_blocks_nobody_and_is_started_again(world: World) -> None:
    with besieged(world, server("h17", "deaf", timeout_ms=700)) as siege:
        # More than a pipe holds.
        assert siege.call("echo", words="x" * 1_000_000).error["code"] == "timeout"
        assert siege.call("echo").error["code"] in ("timeout", "connection_lost")


@pytest.mark.parametrize(("mode", "env"), [("init", "legacy"), ("list", "modern")])
def test_d17_a_start_that_never_ends_costs_a_program_no_more_than_its_own_time(
    world: World, mode: str, env: str
) -> None:
    with besieged(world, server("h17", mode, HOSTILE_ERA=env)) as siege:
        began = time.monotonic()
        ended = siege.execute("return await tools.hostile.echo({});", timeout_ms=2_000)
        # A start may take a minute; the program has two seconds.
        assert time.monotonic() - began < 50
        assert ended["status"] == "failed", ended


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_d18_questions_of_a_server_are_declined_and_none_is_answered_for_anybody(world: World, era: str) -> None:
    with besieged(world, server("h18", timeout_ms=10_000, HOSTILE_ERA=era)) as siege:
        error = siege.call("echo").error
        assert error["code"] == "input_required"
        asked = [line for line in siege.peer.lines if '"method":' in line]
        assert not any("password" in line.lower() for line in asked)


def test_d19_a_child_has_its_own_environment_three_pipes_and_a_group_of_its_own(world: World) -> None:
    with besieged(world, server("h19")) as siege:
        seen = json.loads(siege.call("snoop").value)
    environment = seen["env"]
    # It has its secret, which is taken out of what it says of it.
    assert environment["HOSTILE_TOKEN"] == "[redacted]"
    assert environment.keys() <= {"HOME", "PATH", "LANG", "TMPDIR", "LC_CTYPE", "HOSTILE_TOKEN", MARK}
    assert HEALTHY_TOKEN not in environment.values()
    # The fourth is the one that listed them.
    assert [seen["descriptors"][number][:5] for number in "012"] == ["pipe:"] * 3
    assert set(seen["descriptors"]) <= {"0", "1", "2", "3"}
    assert seen["group"] == seen["pid"]


@pytest.mark.parametrize(
    ("mode", "version"),
    [
        ("future", "`2999-01-01`"),
        ("past", "`2023-01-01`"),
        ("garbage", "`[31m'; drop`"),
        ("number", "`5`"),
        ("huge", "`99999999"),
    ],
)
def test_d21_a_version_nobody_speaks_is_refused_by_name(world: World, mode: str, version: str) -> None:
    with besieged(world, server("h21", mode, HOSTILE_ERA="legacy")) as siege:
        error = siege.call("echo").error
        assert error["code"] == "server_unavailable"
        assert version in error["message"] and len(error["message"]) < 300
        assert "limbeck tools hostile" in error["hint"]


@pytest.mark.parametrize(
    ("mode", "era"),
    [("nocaps", "legacy"), ("twice", "legacy"), ("lie", "legacy"), ("banner", "legacy"), ("discoverlie", "modern")],
)
def test_d21_an_odd_handshake_that_can_be_worked_with_is(world: World, mode: str, era: str) -> None:
    with besieged(world, server("h21", mode, HOSTILE_ERA=era)) as siege:
        assert siege.call("echo", a=1).value == {"a": 1}
        # Only this server names itself `github`.
        assert "tools.github" not in siege.search("echo")


def test_d22_a_server_that_will_not_go_goes_with_its_grandchild(world: World) -> None:
    with besieged(world, server("h22")) as siege:
        assert siege.call("echo", a=1).value == {"a": 1}
        alive = [process for process in running().values() if "h22_ignore" in process.command]
        assert len(alive) == 2, alive


def test_d23_answers_nobody_waits_for_reach_nobody(world: World) -> None:
    with besieged(world, server("h23", timeout_ms=300)) as siege:
        assert siege.call("late").error["code"] == "timeout"
        # Every call until long after the late answers gets its own.
        ends = time.monotonic() + 3
        while time.monotonic() < ends:
            assert siege.call("now").value == "now"


def test_d29_a_hundred_servers_that_hang_are_not_started_for_the_first_answer(world: World) -> None:
    hanging = server("h17", "init", HOSTILE_ERA="legacy")
    hanging["env"][MARK] = world.mark
    servers = {f"hanging{number}": hanging for number in range(100)} | {"healthy": server("healthy")}
    config = world.config(servers)
    with Peer(world, "modern", "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        peer.ask("tools/list", {})
        assert peer.execute("return await tools.healthy.echo({ n: 1 });")["value"] == {"n": 1}
        # No answer waited for one of them: none was started.
        assert not any(process.carries(world.mark) for process in running().values())
        assert peer.close() == 0


def test_d21_what_a_person_reads_of_a_refused_handshake(world: World) -> None:
    shown = words(world, server("h21", "future", HOSTILE_ERA="legacy"))
    assert "`2999-01-01`" in shown.printed
    assert "hint:" in shown.printed


def test_d17_deadlines_in_the_files_of_other_programs_are_used(world: World) -> None:
    starts = {**server("h17", "init", HOSTILE_ERA="legacy"), "startup_timeout_sec": 0.7}
    answers = {**server("h17", "call", HOSTILE_ERA="legacy"), "tool_timeout_sec": 0.4}
    del answers["timeout_ms"]
    config = world.config({"starts": starts, "answers": answers, "healthy": server("healthy")})
    options = ("--config", str(config), "--no-discover")
    reports = {report["name"]: report for report in world.limbeck_json("tools", *options)["servers"]}
    assert "within 700 ms" in reports["starts"]["error"], reports["starts"]
    assert (reports["answers"]["state"], reports["healthy"]["state"]) == ("ready", "ready")
    tool = reports["answers"]["tools"][0]["name"]
    assert "no answer within 400 ms" in world.limbeck("call", "answers", tool, *options).stderr
