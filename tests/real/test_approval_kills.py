"""Calls that a person approved, while gateways are killed: each arrives once, and a call without a known outcome is in doubt.

`LIMBECK_KILL_SEED` makes other kill points, and `LIMBECK_KILLS` sets their number per test.
"""

import itertools
import json
import os
import random
import time
from typing import Any

import pytest

from killing import Execution, Program, Recording, ids
from processes import wait_until
from world import PATIENCE_S, World

SEED = int(os.environ.get("LIMBECK_KILL_SEED", "14"))
KILLS = int(os.environ.get("LIMBECK_KILLS", "20"))
# Kills of one execution, after which it may end.
KILLS_OF_ONE = 5
# First runs that are killed per language.
RUNS_KILLED = 4
# How often two processes begin at once.
ROUNDS = 3

TS_WRITE = """
const write = async (call: any) => {
  for (;;) {
    try { return (await tools.rec.write(call)).done }
    catch (error: any) { if (error.code !== "not_sent") throw error }
  }
};
"""
PY_WRITE = """
import asyncio

async def write(call):
    while True:
        try:
            return (await tools.rec.write(**call))["done"]
        except ToolError as error:
            if error.code != "not_sent":
                raise
"""
BESIDE = {
    "ts": Program("ts", "beside", TS_WRITE + "return await Promise.all(input.map(write));", ("write",)),
    "py": Program("py", "beside", PY_WRITE + "return await asyncio.gather(*[write(call) for call in input])", ("write",)),
}
IN_SEQUENCE = {
    "ts": Program(
        "ts",
        "in sequence",
        TS_WRITE
        + """
        const done = [];
        for (const call of input) {
          done.push((await tools.rec.read({ id: call.id })).done);
          done.push(await write(call));
        }
        return done;
        """,
        ("read", "write"),
    ),
    "py": Program(
        "py",
        "in sequence",
        PY_WRITE
        + """
done = []
for call in input:
    done.append((await tools.rec.read(id=call["id"]))["done"])
    done.append(await write(call))
return done
""",
        ("read", "write"),
    ),
}
PROGRAMS = [*BESIDE.values(), *IN_SEQUENCE.values()]

# Its writes may be denied.
CATCHING = {
    "ts": """
        const write = async (call: any) => {
          try { return (await tools.rec.write(call)).done }
          catch (error: any) { return `${error.code} ${call.id}` }
        };
        return await Promise.all(input.map(write));
        """,
    "py": """
import asyncio

async def write(call):
    try:
        return (await tools.rec.write(**call))["done"]
    except ToolError as error:
        return f"{error.code} {call['id']}"

return await asyncio.gather(*[write(call) for call in input])
""",
}


def calls_of(name: str, rng: random.Random) -> list[dict[str, Any]]:
    """Three writes that no other execution makes."""
    return [{"id": f"{name}-{letter}", "wait_ms": rng.randrange(40)} for letter in "abc"]


def took_s(execution: Execution) -> float:
    """Goes on with an execution, and gives the time of that."""
    began = time.monotonic()
    ran = execution.resume("--approve")
    assert ran.returncode in (0, 3), ran
    return time.monotonic() - began


def ended_well(program: Program, execution: Execution, envelope: dict[str, Any] | None) -> None:
    """Asserts that an execution has ended well, with each of its writes once."""
    assert envelope is not None
    assert envelope["status"] == "completed", envelope
    assert envelope["value"] == program.value(execution.calls), envelope
    assert execution.received() == dict.fromkeys(ids(execution.calls), 1)


def to_its_end(program: Program, execution: Execution) -> None:
    """Approves what an execution without calls in doubt asks, until it has ended well."""
    while (state := execution.look()).status != "completed":
        took_s(execution)
    ended_well(program, execution, state.envelope)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program.language}-{program.name.replace(' ', '-')}")
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
                killed = execution.killed_after(delay_s)
                print(f"{execution.id}: {delay_s:.4f} s of {whole_s:.4f} s, killed: {killed}")
                kills, kills_left = kills + killed, kills_left - killed
        ended_well(program, execution, state.envelope)
        if kills >= KILLS and in_doubt:
            break
    print(f"seed {SEED}: {kills} kills, {in_doubt} calls in doubt, {not_sent} of them not sent")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", sorted(IN_SEQUENCE))
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
@pytest.mark.parametrize("language", sorted(IN_SEQUENCE))
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


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", sorted(BESIDE))
def test_of_two_resumes_at_once_one_sends_the_writes_and_the_other_says_so(world: World, language: str) -> None:
    recording, program = Recording(world), BESIDE[language]
    rng = random.Random(SEED)
    for number in range(ROUNDS):
        execution = recording.paused(program, calls_of(str(number), rng))
        both = [recording.start("resume", execution.id, "--approve") for _ in range(2)]
        outcomes = [(*process.communicate(timeout=PATIENCE_S), process.returncode) for process in both]
        envelopes = [json.loads(out) for out, _, code in outcomes if code == 0]
        assert envelopes, outcomes
        for envelope in envelopes:
            ended_well(program, execution, envelope)
        for out, words, code in outcomes:
            assert code == 0 or (out == "" and "is running" in words), outcomes
        ended_well(program, execution, execution.look().envelope)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", sorted(BESIDE))
def test_a_resume_while_another_gateway_has_the_execution_sends_and_ends_nothing(world: World, language: str) -> None:
    recording, program = Recording(world), BESIDE[language]
    execution = recording.paused(program, calls_of("held", random.Random(SEED)))
    with recording.held():
        first = recording.start("resume", execution.id, "--approve")
        wait_until(lambda: len(recording.received()) == 3, "the writes arrive")
        second = execution.resume("--approve")
        third = execution.resume("--stop")
        shown = world.limbeck_json("executions", execution.id)
    for other in (second, third):
        assert other.returncode != 0 and "is running" in other.stderr, other
    # The owner lives, so what waits for an answer is not in doubt.
    assert shown["status"] == "running", shown
    out, words = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 0, words
    ended_well(program, execution, json.loads(out))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", sorted(CATCHING))
def test_an_approval_and_a_denial_at_once_are_one_decision(world: World, language: str) -> None:
    recording, program = Recording(world), Program(language, "catching", CATCHING[language], ("write",))
    rng = random.Random(SEED)
    for number in range(ROUNDS):
        # A third denial would end the program.
        execution = recording.paused(program, calls_of(str(number), rng)[:2])
        both = [recording.start("resume", execution.id, decision) for decision in ("--approve", "--deny")]
        for process in both:
            process.communicate(timeout=PATIENCE_S)
        shown = world.limbeck_json("executions", execution.id)
        decided = {}
        for question in execution.questions():
            [decision] = question["decisions"]
            decided[question["arguments"]["id"]] = decision["decision"]
        value = [f"{'write' if decided[id] == 'approve' else 'denied'} {id}" for id in ids(execution.calls)]
        assert (shown["status"], shown["envelope"]["value"]) == ("completed", value), shown
        assert execution.received() == {id: 1 for id, decision in decided.items() if decision == "approve"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("denied", [{1}, {0, 2}], ids=["one-denied", "two-denied"])
@pytest.mark.parametrize("language", sorted(CATCHING))
def test_three_questions_have_one_outcome_in_any_order_of_their_decisions(
    world: World, language: str, denied: set[int]
) -> None:
    recording, program = Recording(world), Program(language, "catching", CATCHING[language], ("write",))
    rng = random.Random(SEED)
    for number, order in enumerate([None, *itertools.permutations(range(3))]):
        execution = recording.paused(program, calls_of(str(number), rng))
        of_call = {question["arguments"]["id"]: question["id"] for question in execution.questions()}
        questions = [of_call[id] for id in ids(execution.calls)]
        if order is None:
            approved = [questions[at] for at in range(3) if at not in denied]
            ran = execution.resume("--approve", *approved, "--deny", *[questions[at] for at in denied])
        else:
            for left, at in zip((2, 1, 0), order, strict=True):
                ran = execution.resume("--deny" if at in denied else "--approve", questions[at])
                assert ran.returncode == (3 if left else 0), (order, ran)
                waiting = json.loads(ran.stdout).get("pending", [])
                assert len(waiting) == left, (order, ran)
                # Nothing is sent before the last decision.
                assert not left or not execution.received(), (order, at)
        assert ran.returncode == 0, (order, ran)
        value = [f"{'denied' if at in denied else 'write'} {id}" for at, id in enumerate(ids(execution.calls))]
        assert json.loads(ran.stdout)["value"] == value, (order, ran)
        sent = {id: 1 for at, id in enumerate(ids(execution.calls)) if at not in denied}
        assert execution.received() == sent, order


OBSERVE = '[policy]\npreset = "observe"\n'
CLAIMS = OBSERVE + '[[policy.rule]]\nid = "claims"\neffect = "ask"\ntools = ["rec.claim"]\n'

# The effect that the journal has for a call, which decides whether the call is in doubt after a kill.
EFFECT_BY_HINT = pytest.mark.xfail(
    strict=True,
    reason="the journal takes the effect of a call from the `readOnlyHint` of its server, and not from the operator's class",
)


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
        pytest.param(
            "claim", OBSERVE + '[policy.classes]\n"rec.claim" = "destructive"\n', id="of-the-operators-class", marks=EFFECT_BY_HINT
        ),
        pytest.param("claim", CLAIMS, id="that-a-rule-asks-about", marks=EFFECT_BY_HINT),
        pytest.param("claim", OBSERVE, id="of-no-class", marks=EFFECT_BY_HINT),
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
        pytest.param(
            "write", OBSERVE + '[policy.classes]\n"rec.write" = "read"\n', id="without-a-hint", marks=EFFECT_BY_HINT
        ),
    ],
)
def test_a_call_that_only_reads_by_the_operators_word_is_made_again(world: World, tool: str, rules: str) -> None:
    recording = Recording(world, rules)
    execution = killed_in_flight(recording, tool)
    resumed = execution.resume()
    assert resumed.returncode == 0, resumed
    assert json.loads(resumed.stdout)["value"] == f"{tool} one"
    assert recording.received(tool) == [{"id": "one"}] * 2
