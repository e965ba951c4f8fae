"""One question for the writes of a program, while gateways are killed: it is asked once, and each call that it covers arrives once.

`LIMBECK_KILL_SEED` makes other kill points, and `LIMBECK_KILLS` sets the number of executions that are killed.
"""

import os
import random
import time

import pytest

from asking_programs import IN_SEQUENCE, calls_of
from killing import Recording, State
from world import World

SEED = int(os.environ.get("LIMBECK_KILL_SEED", "14"))
# Executions that are killed, and kills of each.
EXECUTIONS = int(os.environ.get("LIMBECK_KILLS", "1"))
KILLS = 4

BALANCED = """
[policy]
preset = "balanced"

[policy.classes]
"rec.read" = "read"
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_plan_is_asked_about_once_wherever_a_gateway_is_killed(world: World, language: str) -> None:
    recording, program = Recording(world, BALANCED), IN_SEQUENCE[language]
    rng = random.Random(f"{SEED} plan {language}")
    whole_s = 0.0
    for number in range(EXECUTIONS + 1):
        execution = recording.paused(program, calls_of(str(number), rng))
        [plan] = execution.pending
        assert plan["plan_lines"] == 1, plan
        # The first one measures the time over which the kills are spread, and is not killed.
        kills_left = KILLS if number else 0
        while (shown := world.limbeck_json("executions", execution.id))["status"] != "completed":
            in_doubt = world.limbeck_json("reconcile", execution.id)["in_doubt"]
            assert all(count == 1 for count in execution.received().values()), execution.received()
            questions = execution.questions()
            assert len(questions) == 1, questions
            if in_doubt:
                execution.reconcile(State(shown["status"], None, in_doubt, questions), rng)
            elif kills_left:
                delay_s = rng.uniform(0, whole_s)
                killed = execution.killed_after(delay_s, "--approve")
                print(f"{execution.id}: {delay_s:.4f} s of {whole_s:.4f} s, killed: {killed}")
                kills_left -= 1
            else:
                began = time.monotonic()
                ran = execution.resume("--approve")
                assert ran.returncode == 0, ran
                whole_s = whole_s or time.monotonic() - began
        execution.ended_well(program, shown["envelope"])
        [question] = execution.questions()
        assert question["state"] == "spent", question
        assert question["decisions"][0]["lines"] == [1], question
