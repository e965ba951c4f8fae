"""Executions whose gateway is killed at any moment, and what must hold of them afterwards.

The oracle is the file of `recording_server.py`: it has every call that reached the server.
`Execution.look` compares that file with the journal and with the questions, after each kill.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asking_programs import Program
from processes import family, wait_until, wait_until_none_is_left
from recording_server import result_of
from world import LIMBECK, MARK, PATIENCE_S, World, entry

SERVER = Path(__file__).with_name("recording_server.py")

# `read` is one for the operator and by its hint; about `write` a person is asked.
RULES = """
[policy]
preset = "observe"

[policy.classes]
"rec.read" = "read"

[[policy.rule]]
id = "writes"
effect = "ask"
tools = ["rec.write"]
"""

APPROVED = [("approve", "user:local")]

# Decisions of a question in each state that occurs here.
DECISIONS = {"pending": [], "approved": APPROVED, "spent": APPROVED, "denied": [("deny", "user:local")]}


@dataclass(frozen=True)
class Recording:
    """A world with one server, `rec`, which records its calls."""

    world: World
    rules: str = RULES

    def __post_init__(self) -> None:
        server = entry([sys.executable, "-I", str(SERVER)], str(self.calls), **{MARK: self.world.mark})
        lines = [f"[servers.rec]\ncommand = {json.dumps(server['command'])}", f"args = {json.dumps(server['args'])}"]
        lines.append(f"env = {{ {MARK} = {json.dumps(self.world.mark)} }}")
        directory = self.world.home / ".config/limbeck"
        directory.mkdir(parents=True)
        (directory / "config.toml").write_text("\n".join(lines) + "\n" + self.rules)

    @property
    def calls(self) -> Path:
        """The file of the server."""
        return self.world.root / "calls"

    def received(self, tool: str = "write") -> list[dict[str, Any]]:
        """Arguments of the calls of a tool that reached the server, in order."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        records = [json.loads(line) for line in lines]
        return [record["arguments"] for record in records if record["tool"] == tool]

    @contextmanager
    def held(self, tool: str = "write") -> Iterator[None]:
        """A time in which the server answers no call of a tool."""
        hold = Path(f"{self.calls}.hold-{tool}")
        hold.touch()
        try:
            yield
        finally:
            hold.unlink()

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Starts a command in a session of its own."""
        return subprocess.Popen(
            [LIMBECK, *args, "--json"],
            env=self.world.environment(),
            cwd=self.world.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def serving(self, program: Program, calls: list[dict[str, Any]]) -> subprocess.Popen[str]:
        """Starts a gateway over standard input whose client has sent a program with some calls as input, and waits."""
        process = subprocess.Popen(
            [LIMBECK, "serve"],
            env=self.world.environment(),
            cwd=self.world.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "killing", "version": "1"}}
        language = {"ts": "typescript", "py": "python"}[program.language]
        arguments = {"code": program.code, "language": language, "input": calls}
        messages = [
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "execute", "arguments": arguments}},
        ]
        assert process.stdin is not None
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        return process

    def kill(self, process: subprocess.Popen[str]) -> bool:
        """Kills a gateway and waits until its workers and servers have ended. False when it ended by itself before."""
        if process.poll() is None:
            # Stopped first, so that it starts nothing after its processes were listed.
            os.kill(process.pid, signal.SIGSTOP)
            before = family(process.pid, self.world.mark)
            process.kill()
            process.communicate(timeout=PATIENCE_S)
            wait_until_none_is_left(before, process.pid, self.world.mark)
        return process.returncode == -signal.SIGKILL

    def kill_after(self, process: subprocess.Popen[str], seconds: float) -> bool:
        """Kills a gateway after a time. False when it ended by itself before."""
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            pass
        return self.kill(process)

    def run_arguments(self, program: Program, calls: list[dict[str, Any]]) -> list[str]:
        """Command line that runs a program with some calls as input."""
        file = self.world.project / f"program.{program.language}"
        file.write_text(program.code)
        return ["run", str(file), "--input", json.dumps(calls)]

    def paused(self, program: Program, calls: list[dict[str, Any]]) -> "Execution":
        """An execution that waits for decisions."""
        ran = self.world.limbeck(*self.run_arguments(program, calls), "--json")
        assert ran.returncode == 3, ran
        envelope = json.loads(ran.stdout)
        assert envelope["status"] == "paused", envelope
        assert not set(ids(calls)) & set(ids(self.received())), "sent before a decision"
        return Execution(self, envelope["execution_id"], calls, envelope["pending"])

    def executions(self) -> list[dict[str, Any]]:
        """All executions, newest first."""
        return self.world.limbeck_json("executions")["executions"]


@dataclass(frozen=True)
class State:
    """What is known of an execution while no gateway has it."""

    status: str
    envelope: dict[str, Any] | None
    in_doubt: list[dict[str, Any]]
    questions: list[dict[str, Any]]


@dataclass
class Execution:
    """One execution of a recording world."""

    recording: Recording
    id: str
    calls: list[dict[str, Any]]
    pending: list[dict[str, Any]] = field(default_factory=list)
    # Of calls that were settled: how often they had been sent then.
    settled: dict[int, int] = field(default_factory=dict)
    # Decisions that were on the disk, by the ids of their questions.
    decided: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def resume(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Goes on with it, to its end or to the next question."""
        return self.recording.world.limbeck("resume", self.id, *args, "--json")

    def received(self) -> Counter[str]:
        """How often each of its writes reached the server."""
        own = set(ids(self.calls))
        return Counter(id for id in ids(self.recording.received()) if id in own)

    def questions(self) -> list[dict[str, Any]]:
        """Its questions, decided ones too."""
        listed = self.recording.world.limbeck_json("approvals", "--all")["approvals"]
        return [question for question in listed if question["execution_id"] == self.id]

    def look(self) -> State:
        """Reads what is known of it, and asserts what must hold at any moment."""
        world = self.recording.world
        # First, because the list names executions in doubt, and recovers those whose gateway died.
        shown = world.limbeck_json("executions", self.id)
        in_doubt = world.limbeck_json("reconcile", self.id)["in_doubt"]
        questions = self.questions()
        received = self.received()

        # A gap is one of three things, and never a failure.
        assert shown["status"] in ("paused", "needs_reconciliation", "completed"), shown
        assert bool(in_doubt) == (shown["status"] == "needs_reconciliation"), (shown, in_doubt)
        # What was in doubt was settled by what the server has, so a second time is a call that was repeated.
        assert all(count == 1 for count in received.values()), received

        spent = [question for question in questions if question["state"] == "spent"]
        for question in questions:
            decided = [(decision["decision"], decision["by"]) for decision in question["decisions"]]
            assert decided == DECISIONS[question["state"]], question
            if question["decisions"]:
                assert self.decided.setdefault(question["id"], question["decisions"]) == question["decisions"]
            else:
                assert question["id"] not in self.decided, question
        for arguments in self.recording.received():
            if arguments["id"] in received:
                assert arguments in [question["arguments"] for question in spent], (arguments, questions)

        # Each call that was sent has an outcome, is in doubt, or was settled since it was sent last.
        outcomes = {call["id"] for call in shown["inner_calls"] if "result" in call or "error" in call}
        doubtful = {call["call_id"] for call in in_doubt}
        for call, sent in Counter(question["call_id"] for question in spent).items():
            known = call in outcomes or call in doubtful or self.settled.get(call) == sent
            assert known, (call, shown, in_doubt, questions)
        return State(shown["status"], shown.get("envelope"), in_doubt, questions)

    def reconcile(self, state: State, rng: random.Random, not_sent: tuple[str, ...] = ("--did-not-happen", "--retry")) -> None:
        """Settles each call in doubt by what the server has; one that it does not have by one of the answers `not_sent`."""
        for number, call in enumerate(state.in_doubt):
            id = call["arguments"]["id"]
            if self.received()[id]:
                answer = ["--happened", "--result", json.dumps(result_of(call["tool"], id))]
            else:
                answer = [rng.choice(not_sent)]
            settled = self.recording.world.limbeck_json("reconcile", self.id, str(call["call_id"]), *answer)
            assert settled["in_doubt"] == state.in_doubt[number + 1 :], settled
            spent = [question for question in state.questions if question["state"] == "spent"]
            self.settled[call["call_id"]] = Counter(question["call_id"] for question in spent)[call["call_id"]]

    def ended_well(self, program: Program, envelope: dict[str, Any] | None, denied: Collection[str] = ()) -> None:
        """Asserts that it has ended with its value, and that each write that was not denied arrived once."""
        assert envelope is not None
        assert (envelope["status"], envelope.get("value")) == ("completed", program.value(self.calls, denied)), envelope
        assert self.received() == {id: 1 for id in ids(self.calls) if id not in denied}

    def killed_after(self, seconds: float, *decisions: str) -> bool:
        """Decides and goes on, and is killed after a time. False when it ended by itself before."""
        return self.recording.kill_after(self.recording.start("resume", self.id, *decisions), seconds)

    def killed_with_a_write_in_flight(self, more_seconds: float) -> bool:
        """Approves and goes on, and is killed when the server has a further write and has not answered it."""
        before = sum(self.received().values())
        with self.recording.held():
            process = self.recording.start("resume", self.id, "--approve")
            done = lambda: process.poll() is not None or sum(self.received().values()) > before
            wait_until(done, "a write arrives, or the command ends")
            time.sleep(more_seconds)
            return self.recording.kill(process)


def ids(calls: list[dict[str, Any]]) -> list[str]:
    """The `id` of each call."""
    return [call["id"] for call in calls]
