"""Writes that their server calls reads, of a tool of no class, while gateways are killed: governance 53.

The server records on its disk what it did. `LIMBECK_KILL_SEED` makes other kill points, and `LIMBECK_KILLS` sets their number.
"""

import json
import os
import random
import subprocess
from collections import Counter
from typing import Any

import pytest

from asking_programs import Program
from killing import Recording, ids
from processes import wait_until
from recording_server import result_of
from world import World

SEED = int(os.environ.get("LIMBECK_KILL_SEED", "14"))
KILLS = int(os.environ.get("LIMBECK_KILLS", "4"))
OBSERVE = '[policy]\npreset = "observe"\n'

# Two calls one after another, beside two others. A call that was not sent is made again.
PROGRAMS = {
    "ts": Program(
        "ts",
        "claims",
        """
        const claim = async (call: any): Promise<string> => {
          try { return (await tools.rec.claim(call)).done }
          catch (error: any) { if (error.code === "not_sent") return await claim(call); throw error }
        };
        const [a, b, c, d] = input;
        const chain = async () => [await claim(a), await claim(b)];
        const [first, third, fourth] = await Promise.all([chain(), claim(c), claim(d)]);
        return [...first, third, fourth];
        """,
        ("claim",),
    ),
    "py": Program(
        "py",
        "claims",
        """
import asyncio

async def claim(call):
    try:
        return (await tools.rec.claim(**call))["done"]
    except ToolError as error:
        if error.code == "not_sent":
            return await claim(call)
        raise

async def chain():
    return [await claim(input[0]), await claim(input[1])]

first, third, fourth = await asyncio.gather(chain(), claim(input[2]), claim(input[3]))
return [*first, third, fourth]
""",
        ("claim",),
    ),
}


def settled(recording: Recording, id: str, call: dict[str, Any], rng: random.Random) -> None:
    """Says of a call in doubt what the server has of it."""
    name = call["arguments"]["id"]
    if name in ids(recording.received("claim")):
        answer = ["--happened", "--result", json.dumps(result_of("claim", name))]
    else:
        answer = [rng.choice(["--did-not-happen", "--retry"])]
    recording.world.limbeck_json("reconcile", id, str(call["call_id"]), *answer)


def killed(recording: Recording, process: subprocess.Popen[str], rng: random.Random, sent: int) -> bool:
    """Kills a gateway when the server has so many calls, or at once when the gateway has ended."""
    wait_until(lambda: process.poll() is not None or len(recording.received("claim")) >= sent, "the calls arrive")
    return recording.kill_after(process, rng.choice([0.0, rng.uniform(0, 0.02)]))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_write_of_no_class_is_never_repeated_nor_lost_wherever_its_gateway_is_killed(
    world: World, language: str
) -> None:
    recording, program = Recording(world, OBSERVE), PROGRAMS[language]
    rng = random.Random(f"{SEED} unclassed {language}")
    kills = in_doubt = 0
    for number in range(2 * KILLS):
        if kills >= KILLS and in_doubt:
            break
        calls = [{"id": f"{number}-{name}", "wait_ms": rng.choice([0, 0, 20])} for name in "abcd"]
        known = [listed["id"] for listed in recording.executions()]
        before = len(recording.received("claim"))
        process = recording.start(*recording.run_arguments(program, calls))
        kills += killed(recording, process, rng, before + rng.randint(1, 4))
        [id] = [listed["id"] for listed in recording.executions() if listed["id"] not in known]
        kills_left = 1
        # Calls of which it was said what happened to them.
        said: set[str] = set()
        while (shown := recording.world.limbeck_json("executions", id))["status"] != "completed":
            received = Counter(name for name in ids(recording.received("claim")) if name in ids(calls))
            assert all(count == 1 for count in received.values()), received
            assert shown["status"] in ("paused", "needs_reconciliation"), shown
            doubtful = recording.world.limbeck_json("reconcile", id)["in_doubt"]
            # What the server has and the journal has no answer of is in doubt, and nothing else that it has.
            answered = {call["arguments"]["id"] for call in shown["inner_calls"] if "result" in call}
            happened = {call["arguments"]["id"] for call in doubtful if call["arguments"]["id"] in received}
            assert set(received) - answered <= happened | said, (shown, doubtful)
            if doubtful:
                in_doubt += len(doubtful)
                assert all(call["sent_at"] for call in doubtful), doubtful
                refused = recording.world.limbeck("resume", id)
                assert refused.returncode == 1 and "in doubt" in refused.stderr, refused
                for call in doubtful:
                    settled(recording, id, call, rng)
                    said.add(call["arguments"]["id"])
            elif kills_left:
                kills_left -= 1
                process = recording.start("resume", id)
                kills += killed(recording, process, rng, len(recording.received("claim")) + rng.randint(0, 1))
            else:
                assert recording.world.limbeck("resume", id).returncode == 0
        assert shown["envelope"]["value"] == program.value(calls)
        assert Counter(name for name in ids(recording.received("claim")) if name in ids(calls)) == Counter(ids(calls))
    assert kills and in_doubt, f"seed {SEED}: {kills} kills, {in_doubt} calls in doubt"
