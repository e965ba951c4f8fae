"""What a model gets for the programs of `habits`: never a wrong or an absent answer without a word."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import Envelope, Gateway, serve_config
from habits import ANY, VARIANTS, Variant
from world import World

ACCEPTED_MIN = 90


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway for all programs; its servers are connected and their tools known."""
    world = World(tmp_path_factory.mktemp("habits"))
    for name, content in {"n1": "one", "n2": "two", "data.json": '{"a": 1}\n'}.items():
        (world.files / name).write_text(content)
    repository = world.repository("repo")
    for number in range(3):
        repository.commit("file", str(number), f"commit {number}")
    with serve_config(world, "modern", world.config(world.servers())) as gateway:
        gateway.search("read file")
        yield gateway


def run(gateway: Gateway, variant: Variant) -> Envelope:
    files = gateway.world.files
    code = variant.code.replace("D/", f"{files}/").replace('"D"', f'"{files}"')
    for quote in "\"'":
        code = code.replace(f"{quote}G{quote}", f"{quote}{files / 'repo'}{quote}")
    return gateway.execute(code, **variant.more)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_habit_is_accepted_or_answered_with_what_helps(gateway: Gateway, variant: Variant) -> None:
    envelope = run(gateway, variant)
    error = envelope.raw.get("error")
    if variant.outcome == "refused":
        text = f"{error['message']} {error.get('hint', '')}" if error else None
        assert text is not None, envelope.raw
        text = " ".join([text, *envelope.warnings])
    else:
        assert error is None, envelope.raw
        text = " ".join(envelope.warnings)
        if variant.outcome == "warned":
            assert text, envelope.raw
        if variant.value is not ANY:
            assert envelope.raw.get("value") == variant.value, envelope.raw
        if variant.outcome == "accepted" and variant.value is ANY:
            assert "value" in envelope.raw or envelope.raw.get("stdout"), envelope.raw
    for words in variant.says:
        assert words in text, envelope.raw


def test_most_habits_are_accepted() -> None:
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
    outcomes = Counter(variant.outcome for variant in VARIANTS)
    completed = [v for v in VARIANTS if v.outcome == "accepted" or v.outcome == "warned" and v.value is not ANY]
    assert len(completed) >= ACCEPTED_MIN, outcomes
