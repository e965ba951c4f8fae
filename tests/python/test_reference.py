"""Every stored result is that of native CPython, and every difference of the engine is explained."""

import re
import sys

import pytest

import reference
from corpus import DIVERGENCES, Program, dump, programs

# What the corpus promises to hold at least.
PROGRAMS_MIN = 150


def test_the_reference_does_what_is_stored(program: Program) -> None:
    if not program.runs_here:
        pytest.skip(f"needs CPython {program.directives['reference']}, this is {sys.version.split()[0]}")
    assert dump(reference.run(program)) == program.reference_path.read_text()


def test_the_corpus_has_programs_enough_and_most_run_on_any_supported_reference() -> None:
    every = programs()
    assert len([each for each in every if "reference" not in each.directives]) >= PROGRAMS_MIN
    assert all(each.expected_path.is_file() for each in every)


def test_a_difference_is_listed_and_a_listed_one_exists() -> None:
    differing = {each.name for each in programs() if each.engine_path.exists()}
    listed = set(re.findall(r"^\| `([a-z0-9]+/[a-z0-9-]+)` \|", DIVERGENCES.read_text(), re.MULTILINE))

    assert listed == differing


def test_a_stored_difference_is_one() -> None:
    for each in programs():
        if each.engine_path.exists():
            assert dump(each.expected()) != dump(each.expected(of_engine=True)), each.name
