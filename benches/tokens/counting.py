"""Counts tokens of o200k_base, with a tokenizer that is not Limbeck's own."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from world import REPOSITORY, TOOLS, program

_SCRIPT = REPOSITORY / "tests/clients/tokens.cjs"
_counted: dict[str, int] = {}


def compact(value: Any) -> str:
    """JSON as clients send it to a model's API."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def shown(name: str, description: str | None, schema: Any) -> str:
    """A tool as clients show it to a model."""
    return compact({"name": name, "description": description or "", "input_schema": schema})


def count(texts: Sequence[str]) -> int:
    """The tokens of all of `texts` together."""
    new = sorted({text for text in texts if text not in _counted})
    if new:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(new, file)
            file.flush()
            modules = str(Path(TOOLS, "clients/node_modules"))
            command = [program("node"), str(_SCRIPT), modules, file.name]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
        _counted.update(zip(new, json.loads(ran.stdout), strict=True))
    return sum(_counted[text] for text in texts)
