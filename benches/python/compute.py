"""Computing without calls, as ratios to this interpreter, for our engine and for Pyodide."""

from pathlib import Path
from statistics import median

import engines
from gateway import executed
from report import Report, shown
from served import Served


def compare(report: Report, served: Served, modules: Path, one_ms: float, rounds: int) -> None:
    """One row for each program and engine.

    The clock of Limbeck's guest does not move while it computes, so its times are taken outside, less `one_ms`,
    the median of a pooled `print(1+1)`. The others are timed inside, Pyodide after a round of warming.
    """
    natives = [engines.native(program, rounds) for program in engines.PROGRAMS]
    node = engines.pyodide_in_node(modules, engines.PROGRAMS, rounds + 1)
    deno = engines.pyodide_in_deno(modules, engines.PROGRAMS, rounds + 1)
    for program, native, in_node, in_deno in zip(engines.PROGRAMS, natives, node, deno):
        name = program.stem.replace("_", " ")
        base = median(native.ms)
        report.row(f"compute: {name}, native CPython", shown(base))
        ours = _in_limbeck(served, program, native.result, one_ms, rounds)
        others = {"limbeck": ours, "Pyodide in Node": in_node.ms[1:], "Pyodide in Deno": in_deno.ms[1:]}
        for engine, samples in others.items():
            report.time(f"compute: {name}, {engine}", samples, note=f"{median(samples) / base:.2f} times native")
        for other in (in_node, in_deno):
            _same(name, other.result, native.result)


def _in_limbeck(served: Served, program: Path, expected: object, one_ms: float, rounds: int) -> list[float]:
    source = program.read_text()
    _, envelope = served.execute("python", source)
    _same(program.stem, envelope["value"], expected)
    return [executed(served, "python", source) - one_ms for _ in range(rounds)]


def _same(name: str, result: object, expected: object) -> None:
    if result != expected:
        raise RuntimeError(f"{name} gave {result!r}, not {expected!r}")
