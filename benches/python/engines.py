"""The same programs in the other engines: this interpreter, and Pyodide under Node and Deno."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


@dataclass
class Measured:
    """One program in one engine: milliseconds of each round, and the program's `result`."""

    ms: list[float]
    result: Any


def native(program: Path, rounds: int) -> Measured:
    """A fresh interpreter for each round, timed inside, so without its start."""
    command = [sys.executable, "-I", HERE / "native.py", program]
    runs = [json.loads(subprocess.check_output(command)) for _ in range(rounds)]
    return Measured([run["ms"] for run in runs], runs[-1]["result"])


def pyodide_in_node(modules: Path, programs: Sequence[Path], rounds: int) -> list[Measured]:
    return _pyodide(["node"], modules, programs, rounds)


def pyodide_in_deno(modules: Path, programs: Sequence[Path], rounds: int) -> list[Measured]:
    """Deno's executable lies in a package for each platform; only one of them is installed."""
    deno = next((modules / "@deno").glob("*/deno"))
    return _pyodide([deno, "run", "--quiet", "--allow-all", "--no-remote"], modules, programs, rounds)


def _pyodide(engine: list[str | Path], modules: Path, programs: Sequence[Path], rounds: int) -> list[Measured]:
    command = [*engine, HERE / "pyodide.mjs", modules / "pyodide", str(rounds), *programs]
    environment = {**os.environ, "DENO_DIR": str(modules / ".deno"), "DENO_NO_UPDATE_CHECK": "1"}
    printed = subprocess.check_output(command, env=environment)
    return [Measured(**measured) for measured in json.loads(printed)]
