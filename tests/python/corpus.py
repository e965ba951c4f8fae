"""Programs of the corpus and their expected results.

A program is `programs/TOPIC/NAME.py`. Comments at its beginning describe what it shows, and:

- `# input: JSON`: the value of `input`;
- `# reference: 3.12`: needs this version of CPython, so an older reference leaves it out;
- `# changed: 3.13`: CPython of this version and later behaves as in `NAME.engine.json`;
- `# message: any`: words of its error differ between versions of Python and are not compared;
- `# stderr: any`: the same for what it writes to standard error.

`NAME.json` beside it is what the reference interpreter did; `reference.py --write` writes it. `NAME.engine.json`
exists only where the engine differs; `docs/reference/divergences.md` has the reason for each.
"""

import json
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
DIVERGENCES = HERE.parents[1] / "docs/reference/divergences.md"

# value, stdout, stderr, error; only what is not empty, as in an envelope of the engine.
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """One program."""

    path: Path

    @property
    def name(self) -> str:
        """`topic/name`."""
        return self.path.relative_to(PROGRAMS).with_suffix("").as_posix()

    @cached_property
    def source(self) -> str:
        """Its text."""
        return self.path.read_text()

    @cached_property
    def directives(self) -> dict[str, str]:
        """The directives of its header."""
        header = re.match(r"(?:[ \t]*#.*\n)*", self.source)
        assert header is not None
        return dict(re.findall(r"^[ \t]*# (input|reference|changed|message|stderr): (.*)$", header[0], re.MULTILINE))

    @property
    def input(self) -> Any:
        """The value of `input`."""
        return json.loads(self.directives.get("input", "null"))

    @property
    def runs_here(self) -> bool:
        """Whether this interpreter is new enough for it."""
        return _is_here(self.directives.get("reference", "3.11"))

    @property
    def has_changed_here(self) -> bool:
        """Whether this interpreter does what the engine does, and older ones did not."""
        return "changed" in self.directives and _is_here(self.directives["changed"])

    @property
    def expected_path(self) -> Path:
        """What the reference did."""
        return self.path.with_suffix(".json")

    @property
    def engine_path(self) -> Path:
        """What the engine does instead, where it differs."""
        return self.path.with_suffix(".engine.json")

    def expected(self, *, of_engine: bool = False) -> Outcome:
        """Its outcome as it has to be."""
        path = self.engine_path if of_engine and self.engine_path.exists() else self.expected_path
        return json.loads(path.read_text())

    @property
    def reference_path(self) -> Path:
        """What this interpreter has to do."""
        return self.engine_path if self.has_changed_here else self.expected_path

    def compared(self, outcome: Outcome) -> Outcome:
        """The parts of an outcome that have to be equal."""
        kept = {key: value for key, value in outcome.items() if key in ("value", "stdout", "stderr", "error")}
        if "error" in kept:
            # A traceback quotes the interpreter's own lines; where it points is compared with the error.
            kept.pop("stderr", None)
            fields = ("kind", "line") if self.directives.get("message") == "any" else ("kind", "line", "message")
            kept["error"] = {key: value for key, value in kept["error"].items() if key in fields and value is not None}
        if self.directives.get("stderr") == "any":
            kept.pop("stderr", None)
        for stream in ("stdout", "stderr"):
            # The engine prints by lines: it ends the last one where a program did not.
            kept[stream] = kept.get(stream, "").removesuffix("\n")
        return {key: value for key, value in kept.items() if value is not None and value != ""}


def _is_here(version: str) -> bool:
    return sys.version_info >= tuple(map(int, version.split(".")))


def programs() -> list[Program]:
    """Every program, by name."""
    return [Program(path) for path in sorted(PROGRAMS.glob("*/*.py"))]


def of_topic(topic: str) -> list[Program]:
    """The programs of one directory."""
    return [each for each in programs() if each.path.parent.name == topic]


def dump(outcome: Outcome) -> str:
    """An outcome as text in which `1`, `1.0` and `true` are three things."""
    return json.dumps(outcome, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
