"""What a task costs in tokens: `cargo xtask bench tokens [--check]`.

Usage: `python benches/tokens [--check]`, with `LIMBECK_BIN` as in `tests/real`, whose servers and client it uses.

1. Listings: what a model reads before anything happens, with three, ten and seventy servers.
2. Tasks: each file of `tasks/` is done once with direct calls and once with a program, over the same files,
   repository, graph and database; both must leave them in the same state. `tasks.py` documents the format of a file.

Every text is counted with o200k_base. Without `--check` the outcome becomes `docs/internals/benchmarks.md`. With it the
page must match a fresh run: the listings exactly, the sums of the tasks within two per cent (results
hold ids and times). The README must have the page's sums.
"""

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.append(str(REPOSITORY / "tests/real"))

import listings  # noqa: E402
import page  # noqa: E402
import runs  # noqa: E402
import tasks  # noqa: E402
from world import World  # noqa: E402

PAGE = REPOSITORY / "docs/internals/benchmarks.md"


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    with tempfile.TemporaryDirectory(prefix="limbeck-tokens-") as directory:
        listed = listings.measure(Path(directory))
        outcomes, tools = runs.run(World(Path(directory) / "tasks"), tasks.read_all(HERE / "tasks"))
    if check:
        page.compare(PAGE.read_text(), listed, outcomes, tools)
        page.compare_readme((REPOSITORY / "README.md").read_text(), PAGE.read_text())
        print(f"{PAGE.name} says what this run says; {len(outcomes)} tasks verified")
    else:
        PAGE.write_text(page.render(listed, outcomes, tools))
        print(f"wrote {PAGE}")


main()
