"""Every row of `docs/internals/bad-inputs.md` has its test, and every named test exists."""

import re
from collections.abc import Iterator

import pytest

from world import REPOSITORY

PAGE = REPOSITORY / "docs/internals/bad-inputs.md"
ROW = re.compile(r"^\| ([A-Z]\d\d) \| (.+) \| (.+) \|$", re.MULTILINE)
# How many rows there are of each kind.
KINDS = {"C": 30, "U": 13, "H": 18, "D": 30, "W": 16, "O": 12, "G": 10, "X": 10}
ROWS = ROW.findall(PAGE.read_text())


def functions(directory: str, pattern: str, ends: str) -> Iterator[str]:
    """The names of functions below a directory."""
    for path in (REPOSITORY / directory).rglob(f"*{ends}"):
        yield from re.findall(pattern, path.read_text())


HERE = list(functions("tests/hostile", r"(?m)^def test_(\w+)\(", ".py"))
FUNCTION = r"(?m)^ *(?:async )?fn (\w+)\("
# The hostile servers are numbered h01 to h29 themselves, so the rows of the HTTP face count where that face is.
BY_KIND = {kind: HERE + list(functions("crates", FUNCTION, ".rs")) for kind in KINDS}
BY_KIND["H"] = HERE + list(functions("crates/limbeck-server/tests/it", FUNCTION, ".rs"))


def test_every_row_is_on_the_page_once() -> None:
    assert [id for id, _, _ in ROWS] == [f"{kind}{n:02}" for kind, count in KINDS.items() for n in range(1, count + 1)]


@pytest.mark.parametrize(("id", "shown"), [(id, shown) for id, _, shown in ROWS], ids=[id for id, _, _ in ROWS])
def test_a_row_is_shown_by_a_test_or_has_its_reason(id: str, shown: str) -> None:
    if shown == "its id":
        # `test_c04_to_c17_…` shows all rows between.
        assert any(covers(name, id.lower()) for name in BY_KIND[id[0]]), f"no test is named after {id}"
        return
    named = re.findall(r"`([^`]+)::([^`]+)`", shown)
    assert named or shown.startswith("not held: "), shown
    for file, name in named:
        path = REPOSITORY / file
        assert path.is_file(), path
        assert re.search(rf"(fn|def) {name}\(", path.read_text()), f"{file} has no {name}"


def covers(name: str, id: str) -> bool:
    """Whether a name begins with an id, or with a list or a range of ids that has it."""
    begun = re.match(r"((?:[a-z]\d\d_(?:to_)?)+)", name)
    if begun is None:
        return False
    if span := re.match(r"([a-z]\d\d)_to_([a-z]\d\d)_", name):
        return span[1] <= id <= span[2]
    return id in begun[1].split("_")
