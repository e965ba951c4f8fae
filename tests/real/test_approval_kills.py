"""Calls that a person approved, while gateways are killed: each arrives once, and a call without a known outcome is in doubt.

`LIMBECK_KILL_SEED` makes other kill points, and `LIMBECK_KILLS` sets their number per test.
"""

import itertools
import json
import os
import random
import time

import pytest

from asking_programs import BESIDE, CATCHING, IN_SEQUENCE, Program, calls_of
from killing import Execution, Recording, ids
from processes import wait_until
from world import World

SEED = int(os.environ.get("LIMBECK_KILL_SEED", "14"))
KILLS = int(os.environ.get("LIMBECK_KILLS", "8"))
# Kills of one execution, after which it may end.
KILLS_OF_ONE = 5
# Executions per language whose decisions are killed.
DECIDED = 4
# First runs that are killed per language.
RUNS_KILLED = 4


def took_s(execution: Execution) -> float:
    """Goes on with an execution, and gives the time of that."""
    began = time.monotonic()
    ran = execution.resume("--approve")
    assert ran.returncode in (0, 3), ran
    return time.monotonic() - began


def to_its_end(program: Program, execution: Execution) -> None:
    """Approves what an execution without calls in doubt asks, until it has ended well."""
    while (state := execution.look()).status != "completed":
        took_s(execution)
    execution.ended_well(program, state.envelope)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "program", [*BESIDE.values(), *IN_SEQUENCE.values()], ids=lambda program: f"{program.language}-{program.name}"
)
def test_a_write_arrives_once_wherever_the_gateway_of_its_resume_is_killed(world: World, program: Program) -> None:
    recording = Recording(world)
    rng = random.Random(f"{SEED} {program.language} {program.name}")
    whole_s = 0.0
    kills = in_doubt = not_sent = 0
    for number in itertools.count():
        execution = recording.paused(program, calls_of(str(number), rng))
        # The first one measures the time over which the kills are spread, and is not killed.
        kills_left = KILLS_OF_ONE if number else 0
        while (state := execution.look()).status != "completed":
            if state.in_doubt:
                early = execution.resume()
                assert early.returncode == 1 and "may have happened" in early.stderr, early
                in_doubt += len(state.in_doubt)
                not_sent += sum(not execution.received()[call["arguments"]["id"]] for call in state.in_doubt)
                execution.reconcile(state, rng)
            elif not kills_left:
                took = took_s(execution)
                whole_s = whole_s if number else max(whole_s, took)
            elif rng.randrange(4) == 0:
                # The moment between arrival and answer is short, so some kills do not leave it to the time.
                more_s = rng.uniform(0, 0.02)
                killed = execution.killed_with_a_write_in_flight(more_s)
                print(f"{execution.id}: in flight and {more_s:.4f} s, killed: {killed}")
                kills, kills_left = kills + killed, kills_left - killed
            else:
                delay_s = rng.uniform(0, whole_s)
                killed = execution.killed_after(delay_s, "--approve")
                print(f"{execution.id}: {delay_s:.4f} s of {whole_s:.4f} s, killed: {killed}")
                kills, kills_left = kills + killed, kills_left - killed
        execution.ended_well(program, state.envelope)
        if kills >= KILLS and in_doubt:
            break
    print(f"seed {SEED}: {kills} kills, {in_doubt} calls in doubt, {not_sent} of them not sent")


def decisions_of(execution: Execution, denied: set[str]) -> list[str]:
    """Options that decide about every question of an execution, decided ones too."""
    questions = [(question["id"], question["arguments"]["id"] in denied) for question in execution.questions()]
    approvals = [id for id, is_denied in questions if not is_denied]
    return ["--approve", *approvals, "--deny", *[id for id, is_denied in questions if is_denied]]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
def test_decisions_hold_wherever_the_gateway_that_makes_them_is_killed(world: World, language: str) -> None:
    recording, program = Recording(world), CATCHING[language]
    rng = random.Random(f"{SEED} {language}")
    whole_s = 0.0
    for number in range(DECIDED + 1):
        execution = recording.paused(program, calls_of(str(number), rng))
        denied = {rng.choice(ids(execution.calls))}
        kills_left = 2 if number else 0
        while (state := execution.look()).status != "completed":
            decisions = decisions_of(execution, denied)
            if state.in_doubt:
                # The program does not make a call a second time by itself.
                execution.reconcile(state, rng, ("--retry",))
            elif kills_left:
                delay_s = rng.uniform(0, whole_s)
                killed = execution.killed_after(delay_s, *decisions)
                print(f"{execution.id}: {delay_s:.4f} s of {whole_s:.4f} s, killed: {killed}")
                kills_left -= killed
            else:
                began = time.monotonic()
                ran = execution.resume(*decisions)
                assert ran.returncode in (0, 3), ran
                whole_s = whole_s or time.monotonic() - began
        execution.ended_well(program, state.envelope, denied)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_run_that_is_killed_during_a_read_goes_on_and_sends_no_write_twice(world: World, language: str) -> None:
    recording, program = Recording(world), IN_SEQUENCE[language]
    calls = calls_of("first", random.Random(SEED))
    with recording.held("read"):
        process = recording.start(*recording.run_arguments(program, calls))
        wait_until(lambda: recording.received("read") != [], "the read arrives")
        assert recording.kill(process)

    [listed] = recording.executions()
    execution = Execution(recording, listed["id"], calls)
    state = execution.look()
    assert (state.status, state.questions) == ("paused", []), state
    assert "paused: interrupted" in world.limbeck("executions").stdout
    assert recording.received() == []

    resumed = execution.resume()
    assert resumed.returncode == 3, resumed
    assert recording.received() == []
    to_its_end(program, execution)
    # A read without an answer is made again, and no other.
    assert ids(recording.received("read")) == ["first-a", "first-a", "first-b", "first-c"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_run_that_is_killed_at_any_time_before_it_pauses_goes_on_or_did_nothing(world: World, language: str) -> None:
    recording, program = Recording(world), IN_SEQUENCE[language]
    rng = random.Random(f"{SEED} {language}")
    began = time.monotonic()
    recording.paused(program, calls_of("whole", rng))
    whole_s = time.monotonic() - began
    for number in range(RUNS_KILLED):
        known = [listed["id"] for listed in recording.executions()]
        calls = calls_of(str(number), rng)
        process = recording.start(*recording.run_arguments(program, calls))
        delay_s = rng.uniform(0, whole_s)
        killed = recording.kill_after(process, delay_s)
        print(f"{delay_s:.4f} s of {whole_s:.4f} s, killed: {killed}")
        started = [listed["id"] for listed in recording.executions() if listed["id"] not in known]
        assert not set(ids(calls)) & set(ids(recording.received())), "sent before a decision"
        if started:
            [id] = started
            to_its_end(program, Execution(recording, id, calls))
        else:
            # It had not begun.
            assert not set(ids(calls)) & set(ids(recording.received("read")))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("language", ["ts", "py"])
def test_the_questions_of_a_killed_gateway_are_shown_again_with_their_ids(world: World, language: str) -> None:
    recording, program = Recording(world), BESIDE[language]
    calls = calls_of("asked", random.Random(SEED))
    process = recording.serving(program, calls)

    def waiting() -> list[str]:
        return sorted(question["id"] for question in world.limbeck_json("approvals")["approvals"])

    wait_until(lambda: len(waiting()) == len(calls), "the questions are asked")
    asked = waiting()
    assert recording.kill(process)

    [listed] = recording.executions()
    assert listed["status"] == "paused", listed
    assert waiting() == asked
    execution = Execution(recording, listed["id"], calls)
    resumed = execution.resume()
    assert resumed.returncode == 3, resumed
    assert sorted(question["approval_id"] for question in json.loads(resumed.stdout)["pending"]) == asked
    assert recording.received() == []
    to_its_end(program, execution)


OBSERVE = '[policy]\npreset = "observe"\n'
DESTROYS = OBSERVE + '[policy.classes]\n"rec.claim" = "destructive"\n'
CLAIMS = OBSERVE + '[[policy.rule]]\nid = "claims"\neffect = "ask"\ntools = ["rec.claim"]\n'


def killed_in_flight(recording: Recording, tool: str) -> Execution:
    """An execution whose gateway was killed when the server had its only call, which was approved where a rule asks."""
    calls = [{"id": "one"}]
    program = Program("ts", tool, f"return (await tools.rec.{tool}(input[0])).done", (tool,))
    command = recording.run_arguments(program, calls)
    if "ask" in recording.rules:
        execution = recording.paused(program, calls)
        command = ["resume", execution.id, "--approve"]
    with recording.held(tool):
        process = recording.start(*command)
        wait_until(lambda: recording.received(tool) != [], "the call arrives")
        assert recording.kill(process)
    [listed] = recording.executions()
    return Execution(recording, listed["id"], calls)


@pytest.mark.parametrize(
    ("tool", "rules"),
    [
        pytest.param("write", OBSERVE, id="without-a-hint"),
        pytest.param("claim", DESTROYS, id="of-the-operators-class"),
        pytest.param("claim", CLAIMS, id="that-a-rule-asks-about"),
        pytest.param("claim", OBSERVE, id="of-no-class"),
    ],
)
def test_a_call_in_flight_is_in_doubt_though_its_server_says_that_it_only_reads(
    world: World, tool: str, rules: str
) -> None:
    recording = Recording(world, rules)
    execution = killed_in_flight(recording, tool)
    resumed = execution.resume()
    assert recording.received(tool) == [{"id": "one"}], "the call was repeated"
    assert resumed.returncode == 1 and "may have happened" in resumed.stderr, resumed
    assert [listed["status"] for listed in recording.executions()] == ["needs_reconciliation"]


@pytest.mark.parametrize(
    ("tool", "rules"),
    [
        pytest.param("read", OBSERVE + '[policy.classes]\n"rec.read" = "read"\n', id="with-a-hint"),
        pytest.param("write", OBSERVE + '[policy.classes]\n"rec.write" = "read"\n', id="without-a-hint"),
        pytest.param("read", OBSERVE + 'trust_annotations = ["rec"]\n', id="with-the-hint-of-a-trusted-server"),
    ],
)
def test_a_call_that_only_reads_by_the_operators_word_is_made_again(world: World, tool: str, rules: str) -> None:
    recording = Recording(world, rules)
    execution = killed_in_flight(recording, tool)
    resumed = execution.resume()
    assert resumed.returncode == 0, resumed
    assert json.loads(resumed.stdout)["value"] == f"{tool} one"
    assert recording.received(tool) == [{"id": "one"}] * 2
