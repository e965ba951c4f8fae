"""Several gateways that decide about one execution, and decisions in every order: one outcome, and each write once."""

import itertools
import json
import random

import pytest

from asking_programs import BESIDE, CATCHING, calls_of
from killing import Recording, ids
from processes import wait_until
from world import PATIENCE_S, World

SEED = 14
# How often two processes begin at once.
ROUNDS = 3


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
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
            execution.ended_well(program, envelope)
        for out, words, code in outcomes:
            assert code == 0 or (out == "" and "is running" in words), outcomes
        execution.ended_well(program, execution.look().envelope)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
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
    execution.ended_well(program, json.loads(out))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
def test_an_approval_and_a_denial_at_once_are_one_decision(world: World, language: str) -> None:
    recording, program = Recording(world), CATCHING[language]
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
        assert set(decided.values()) <= {"approve", "deny"}, decided
        execution.ended_well(program, shown["envelope"], [id for id, decision in decided.items() if decision == "deny"])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("denied", [{1}, {0, 2}], ids=["one-denied", "two-denied"])
@pytest.mark.parametrize("language", ["ts", "py"])
def test_three_questions_have_one_outcome_in_any_order_of_their_decisions(
    world: World, language: str, denied: set[int]
) -> None:
    recording, program = Recording(world), CATCHING[language]
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
        execution.ended_well(program, json.loads(ran.stdout), [ids(execution.calls)[at] for at in denied])
