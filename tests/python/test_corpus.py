"""Every program has its stored result on the engine."""

from pathlib import Path

import pytest

import engine as engine_module
from corpus import Program, dump, of_topic, programs
from engine import Engine

# Exit codes of `limbeck run`: the program completed, or failed.
COMPLETED, FAILED = 0, 1
ONE_OF_A_KIND = [
    "joins/stock-check",
    "values/input",
    "failures/raise",
    "failures/syntax-keyword",
    "s0/report",
    "s2/digest",
]


def test_a_program_gives_what_the_reference_gave(engine: Engine, program: Program) -> None:
    envelope = engine.execute(program)

    assert dump(program.compared(envelope)) == dump(program.expected(of_engine=True)), envelope


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_the_command_line_gives_the_same(name: str, tmp_path: Path) -> None:
    [program] = [each for each in programs() if each.name == name]

    code, envelope = engine_module.run(program, tmp_path)

    expected = program.expected(of_engine=True)
    assert code == (FAILED if "error" in expected else COMPLETED)
    assert dump(program.compared(envelope)) == dump(expected)


@pytest.mark.parametrize("program", of_topic("concurrency"), ids=lambda each: each.name)
def test_a_program_does_it_again_from_its_journal(engine: Engine, program: Program) -> None:
    envelope = engine.execute(program)

    replayed = engine.replay(envelope["execution_id"])

    assert replayed["identical"], replayed
    assert program.compared(replayed["envelope"]) == program.compared(envelope)


@pytest.mark.parametrize("program", of_topic("failures"), ids=lambda each: each.name)
def test_a_traceback_shows_the_lines_of_the_program_and_no_others(engine: Engine, program: Program) -> None:
    envelope = engine.execute(program)

    shown = envelope.get("stderr", "")
    frames = [line for line in shown.splitlines() if line.lstrip().startswith("File ")]
    assert all('"program.py"' in frame for frame in frames), shown
    if envelope.get("error", {}).get("kind") == "exception":
        assert f'"program.py", line {envelope["error"]["line"]}' in shown, shown
