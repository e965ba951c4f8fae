"""Writes `docs/benchmarks.md`, and says whether what it says is still so."""

import re
from statistics import median

from listings import TEN, Listing
from runs import Outcome

# S0 and S1 list the same tools over every catalogue. Their `tools/list` as they answer it, whole, in o200k tokens:
# S0 1.0.0 with both languages switched on (1,984 without Python), S1 1.0.0.
S0 = 3_202
S1 = 746

# What a fresh run may differ by in the sums of a task: results hold ids and times.
TOLERANCE = 0.02
TOLERANCE_TOKENS = 12

_HEAD = """\
# What it costs in tokens

This page is written by `cargo xtask bench tokens` and checked by every `cargo xtask test`: the listings must be
the same to the token, every task is done again both ways, must leave the same state, and may not differ by more
than two per cent. Tokens are o200k_base, counted with a tokenizer that is not Limbeck's own.

"""

_LISTINGS = """\
## Before anything happens

What a model reads of the tools it has, at each of its turns. Direct: name, description and input schema of
every tool, as clients send them. Limbeck: the same of its own tools, and its instructions, which name the servers.

{table}

`github`, `slack-legacy` and `filesystem` are the three; ten servers stand for a busy developer: {ten}. The seventy
are the 41 captured catalogues of `tests/catalogues`, which are tool lists of published servers, and 29 of them a second
time under another name, as one has a server for each of two accounts. S0 and S1 are the earlier gateways: their
figures are the whole `tools/list` of their published versions and do not depend on the catalogue; they tell a model
nothing of the servers behind them. What a search answers comes on top for all three gateways, and is in the tasks
below.

"""

_METHOD = """\
## Tasks

{count} tasks over five real servers (filesystem, git, memory, sqlite, everything), done once with direct calls and
once with a search and a program, over the same files. Afterwards files, repositories, graph and database are compared.
A task is a file of `benches/tokens/tasks`; {python} of the programs are Python.

How the two sides are reckoned:

- At each turn a model reads the definitions it was given. Direct calls take a turn for each step that needs the one
  before, and calls that do not depend on one another share a turn. With Limbeck there are two turns, one that searches
  and one that sends the program. The turn that reads the last result comes on top on both sides and is left out.
- *Direct* has the definitions of the servers the task needs and no others, which is the best case for direct calls.
  *Direct, five servers* has those of all five ({five} tools), as a client has that is connected to them. Limbeck always
  has all five.
- Arguments and results are counted once. In truth a model reads them again at every later turn, of which direct calls
  have more. Prompt caching makes what is read again cheaper for both, not shorter.
- The direct calls are those of a model that makes no mistake, looks at nothing it does not need and adds up numbers in
  its head. So are the programs.
- A search is charged to every task. In a longer conversation the second program over the same tools needs none.

{sums}

{table}

"""

_LOSSES = """\
## Where direct calls win

{list}

These are tasks of one call, or of a few small ones on a server with few tools: a search and a program cost more than
they save. `limbeck ledger` shows them for your own programs, and `expose = "auto"`
([exposure](exposure.md)) lists the tools of a server that is mostly used so. Against a client that is connected to all
five servers {rest}.
"""


def render(listings: list[Listing], outcomes: list[Outcome], tools: int) -> str:
    """The whole page; `tools` is how many the five servers have."""
    return _HEAD + _listings(listings) + _tasks(outcomes, tools) + _losses(outcomes)


_SUMS = re.compile(r"with Limbeck: ([\d.]+) and ([\d.]+) times fewer\..* Direct calls win (\d+) of (\d+)\.")


def compare(page: str, listings: list[Listing], outcomes: list[Outcome], tools: int) -> None:
    """Fails when the page says something else than this run."""
    fresh = render(listings, outcomes, tools)
    assert _listings(listings) in page, f"the listings changed; run `cargo xtask bench tokens`:\n{_listings(listings)}"
    before, after = _rows(page), _rows(fresh)
    assert before.keys() == after.keys(), "other tasks than on the page; run `cargo xtask bench tokens`"
    for name, numbers in after.items():
        for old, new in zip(before[name], numbers, strict=True):
            near = abs(old - new) <= max(TOLERANCE_TOKENS, TOLERANCE * old)
            assert near, f"{name}: {before[name]} on the page, {numbers} now; run `cargo xtask bench tokens`"


def compare_readme(readme: str, page: str) -> None:
    """Fails when the README has other sums than the page."""
    sums = _SUMS.search(page)
    assert sums is not None, "the page has no sums"
    fewer, fewer_of_five, lost, tasks = sums.groups()
    told = f"{tasks} tasks over real servers took {fewer} times fewer tokens"
    for words in (told, f"{fewer_of_five} times fewer with five", f"won {lost} of them"):
        assert words in " ".join(readme.split()), f"README.md does not say {words!r}, which docs/benchmarks.md does"


def _rows(page: str) -> dict[str, list[int]]:
    rows = re.findall(r"^\| ([a-z-]+) \|[^|]*\|[^|]*\|((?: [\d,]+ \|){3}.*)\|$", page, re.M)
    return {name: [int(cell.replace(",", "")) for cell in cells.split("|")[:3]] for name, cells in rows}


def _listings(listings: list[Listing]) -> str:
    lines = ["| | tools | direct | Limbeck | of these instructions | servers shown | S0 | S1 |", "|---|" + "---:|" * 7]
    for one in listings:
        numbers = [one.tools, one.direct, one.limbeck, one.instructions]
        cells = [one.name, *(f"{number:,}" for number in numbers), one.shown, f"{S0:,}", f"{S1:,}"]
        lines.append("| " + " | ".join(cells) + " |")
    return _LISTINGS.format(table="\n".join(lines), ten=", ".join(TEN))


def _tasks(outcomes: list[Outcome], tools: int) -> str:
    lines = [
        "| task | asked for | turns, calls | direct | direct, five servers | Limbeck | times fewer |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for outcome in outcomes:
        direct, limbeck, task = outcome.direct, outcome.limbeck, outcome.task
        cells = [
            task.name,
            task.ask.replace("|", "\\|"),
            f"{direct.turns}, {direct.calls}",
            f"{direct.total:,}",
            f"{direct.total_of_five:,}",
            f"{limbeck.total:,}",
            f"{_times(outcome):.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    python = sum(outcome.task.language == "python" for outcome in outcomes)
    return _METHOD.format(
        count=len(outcomes), python=python, five=tools, sums=_sums(outcomes), table="\n".join(lines)
    )


def _sums(outcomes: list[Outcome]) -> str:
    direct = sum(outcome.direct.total for outcome in outcomes)
    five = sum(outcome.direct.total_of_five for outcome in outcomes)
    limbeck = sum(outcome.limbeck.total for outcome in outcomes)
    middle = median(_times(outcome) for outcome in outcomes)
    middle_of_five = median(outcome.direct.total_of_five / outcome.limbeck.total for outcome in outcomes)
    losses = sum(_times(outcome) < 1 for outcome in outcomes)
    return (
        f"All together: {direct:,} tokens with direct calls, {five:,} with five servers connected, {limbeck:,} with Limbeck: "
        f"{direct / limbeck:.1f} and {five / limbeck:.1f} times fewer. The median task takes {middle:.1f} and "
        f"{middle_of_five:.1f} times fewer. Direct calls win {losses} of {len(outcomes)}."
    )


def _losses(outcomes: list[Outcome]) -> str:
    losses = sorted((outcome for outcome in outcomes if _times(outcome) < 1), key=_times)
    lines = [
        f"- {outcome.task.name}: {outcome.direct.total:,} direct, {outcome.limbeck.total:,} with Limbeck" for outcome in losses
    ]
    rest = [outcome for outcome in outcomes if outcome.direct.total_of_five < outcome.limbeck.total]
    said = f"direct calls win {len(rest)} of these" if rest else "direct calls win none of these"
    return _LOSSES.format(list="\n".join(lines), rest=said)


def _times(outcome: Outcome) -> float:
    return outcome.direct.total / outcome.limbeck.total
