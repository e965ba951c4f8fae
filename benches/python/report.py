"""The table of a benchmark: what, how long, what was promised, notes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median


def percentile_90(samples: Sequence[float]) -> float:
    return sorted(samples)[len(samples) * 9 // 10]


def shown(ms: float) -> str:
    """A time as people read it."""
    if abs(ms) < 1:
        return f"{ms * 1e3:.0f} µs"
    return f"{ms:.2f} ms" if abs(ms) < 100 else f"{ms:.0f} ms"


@dataclass
class Report:
    """Rows of text, printed at the end; the same look as `cargo xtask bench` of the gateway."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def row(self, name: str, value: str, promise: str = "", note: str = "") -> None:
        self.rows.append((name, value, promise, note))

    def time(self, name: str, samples: Sequence[float], promise_ms: float | None = None, note: str = "") -> float:
        """Adds the median of `samples` in milliseconds, beside its promise, and gives it."""
        middle = median(samples)
        bound = "" if promise_ms is None else shown(promise_ms)
        ratio = "" if promise_ms is None else f"{middle / promise_ms:.2f} of the promise"
        self.row(name, shown(middle), bound, "; ".join(filter(None, [ratio, note])))
        return middle

    def print(self) -> None:
        table = [("benchmark", "median", "promise", "notes"), *self.rows]
        widths = [max(len(row[column]) for row in table) for column in range(4)]
        for row in table:
            cells = (cell.ljust(width) for cell, width in zip(row, widths))
            print("  ".join(cells).rstrip())
