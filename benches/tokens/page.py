"""Writes `docs/internals/benchmarks.md`, and compares it with a fresh run."""

import re
from statistics import median

from listings import TEN, Listing
from runs import Outcome

# S0 and S1 list the same tools over every catalog. Their `tools/list` as they answer it, whole, in o200k tokens:
# S0 1.0.0 with both languages switched on (1,984 without Python), S1 1.0.0.
S0 = 3_202
S1 = 746

# What a fresh run may differ by in the sums of a task: results hold ids and times.
TOLERANCE = 0.02
TOLERANCE_TOKENS = 12

_HEAD = """\
# Token benchmarks

`cargo xtask bench tokens` writes this page and every `cargo xtask test` checks it: the listings must match to the
token; every task is repeated both ways, must leave the same state, and may differ by two per cent. Tokens are
o200k_base, counted with a tokenizer that is not Limbeck's own.

"""

_LISTINGS = """\
## Tool definitions

The definitions that a model reads at each of its turns. Direct: name, description and input schema of every tool, as
clients send them. Limbeck: the same for its own tools, and its instructions, which list the servers.

{table}

The three servers are `github`, `slack-legacy` and `filesystem`. Ten servers are typical of a busy developer: {ten}. The seventy
are the 41 tool lists of published servers in `tests/catalogs`, and 29 of them a second time under another name, like
servers for two accounts. S0 and S1 are earlier gateways: their figures are the whole `tools/list` of their published
versions, which does not depend on the servers and does not name them. For all three gateways the answers of searches
come on top; the tasks below include them.

"""

_METHOD = """\
## Tasks

{count} tasks over five real servers (filesystem, git, memory, sqlite, everything), done once with direct calls and
once with a search and a program, over the same files. Afterwards the files, repositories, graph and database of both
runs are compared. Each task is a file of `benches/tokens/tasks`; {python} of the programs are Python.

How tokens are counted:

- A model reads its tool definitions at each turn. Direct calls take a turn for each step that depends on the one
  before; independent calls share a turn. With Limbeck there are two turns, one that searches and one that sends the
  program. The turn that reads the last result is omitted on both sides.
- *Direct* has only the definitions of the servers that the task needs, which is the best case for direct calls.
  *Direct, five servers* has those of all five ({five} tools), like a client that is connected to all of them. Limbeck
  always has all five.
- Arguments and results are counted once. In fact a model reads them again at every later turn, of which direct calls
  have more. Prompt caching makes repeated text cheaper for both sides, not shorter.
- Both sides assume a model that makes no mistakes, reads nothing it does not need and adds up numbers without a tool.
- Every task includes a search. In a longer conversation, a second program over the same tools needs none.

{sums}

{table}

"""

_LOSSES = """\
## Where direct calls win

{list}

These tasks make one call, or a few small ones on a server with few tools: a search and a program cost more than they
save. `limbeck ledger` shows such programs of your own, and `expose = "auto"` ([exposure](../guide/exposure.md)) exposes
the tools of a server that is mostly used in this way. Compared with a client that is connected to all five servers,
{rest}.
"""


def render(listings: list[Listing], outcomes: list[Outcome], tools: int) -> str:
    """The whole page; `tools` is how many the five servers have."""
    return _HEAD + _listings(listings) + _tasks(outcomes, tools) + _losses(outcomes)


_SUMS = re.compile(r"with Limbeck: ([\d.]+) and ([\d.]+) times fewer\..* Direct calls win (\d+) of (\d+)\.")


def compare(page: str, listings: list[Listing], outcomes: list[Outcome], tools: int) -> None:
    """Fails when the page differs from this run."""
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
    claim = f"{tasks} tasks over real servers took {fewer} times fewer tokens"
    for words in (claim, f"{fewer_of_five} times fewer with five", f"won {lost} of them"):
        assert words in " ".join(readme.split()), f"README.md does not say {words!r}, which docs/internals/benchmarks.md does"


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
