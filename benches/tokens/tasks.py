"""Reads the tasks. A task is one TOML file, named for what it is:

- `ask`: what a user would ask for.
- `servers`: the servers it needs. Direct calls are charged with the definitions of these alone.
- `search`: what a model would look for before it writes the program.
- `setup`: a Bash script that lays out the files, in their directory. `../memory.jsonl` is the knowledge graph,
  `../data.db` the database.
- `program`, `language`: what is sent to `execute`; TypeScript unless it is `python`.
- `answer`: what the program returns, when it is known beforehand.
- `check`: a Bash command that holds in the files' directory afterwards, after both ways.
- `[[turn]]`, in order: the direct calls a model would make in one of its turns, side by side:
  - `tool` and `arguments`: one call; or `calls`: several of them;
  - `each`, a list, or `count`, from 1: one call for each, with `{}` in its place. In a number's place `{n * 3}`
    reckons with it, and `{n:02}` pads it. `one_by_one` makes each a turn of its own.
  - `sequence`: several calls for each, every call a turn of its own;
  - `gather` and `item`: a single call whose argument `gather` lists an item for each; `joined` and `item`: a
    single query with the items behind it.

Paths are written as those of a user `ada`, and are put in their true place, and back before anything is counted:
the length of a temporary directory's name must not matter.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOME = "/home/ada"

_PLACE = re.compile(r"\{([n\d\s%*/()+-]*)(?::(\d+))?\}")


@dataclass(frozen=True)
class Call:
    """One direct call."""

    server: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One task, its direct calls written out."""

    name: str
    ask: str
    servers: list[str]
    search: list[str]
    setup: str
    program: str
    language: str
    answer: Any
    check: str
    turns: list[list[Call]]


def read_all(directory: Path) -> list[Task]:
    """Every task of a directory, by name."""
    return [_read(path) for path in sorted(directory.glob("*.toml"))]


def _read(path: Path) -> Task:
    raw = tomllib.loads(path.read_text())
    turns = [calls for turn in raw.pop("turn") for calls in _turns(turn)]
    optional = {"language": "typescript", "answer": None, "check": "true"}
    return Task(**{"name": path.stem, **optional, **raw, "turns": turns})


def _turns(turn: dict[str, Any]) -> list[list[Call]]:
    values = turn.get("each") or list(range(1, turn.get("count", 0) + 1)) or [None]
    if "calls" in turn:
        return [[_call(call, None) for call in turn["calls"]]]
    if "sequence" in turn:
        return [[_call(call, value)] for value in values for call in turn["sequence"]]
    if "item" in turn:
        items = [_filled(turn["item"], value) for value in values]
        arguments = {turn["gather"]: items} if "gather" in turn else {"query": turn["joined"] + ", ".join(items)}
        return [[_call({"tool": turn["tool"], "arguments": arguments}, None)]]
    calls = [_call(turn, value) for value in values]
    return [[call] for call in calls] if turn.get("one_by_one") else [calls]


def _call(call: dict[str, Any], value: Any) -> Call:
    server, _, tool = call["tool"].partition(".")
    return Call(server, tool, _filled(call["arguments"], value))


def _filled(template: Any, value: Any) -> Any:
    if value is None:
        return template
    if isinstance(template, dict):
        return {key: _filled(item, value) for key, item in template.items()}
    if isinstance(template, list):
        return [_filled(item, value) for item in template]
    if not isinstance(template, str):
        return template
    whole = _PLACE.fullmatch(template)
    if whole and whole[1]:
        return _reckoned(whole[1], value)
    return _PLACE.sub(lambda place: _text(place, value), template)


def _text(place: re.Match[str], value: Any) -> str:
    number = _reckoned(place[1], value) if place[1] else value
    return str(number).zfill(int(place[2] or 0))


def _reckoned(expression: str, value: int) -> int:
    # The pattern lets digits, `n` and operators through, nothing else.
    return int(eval(expression, {"__builtins__": {}}, {"n": value}))
