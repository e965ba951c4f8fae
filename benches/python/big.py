"""Ten megabytes of JSON: made, and filtered by this interpreter.

Usage: `big.py FILE`; prints milliseconds of each of five rounds and what was found, as JSON.
"""

import json
import sys
import time
from pathlib import Path

RECORDS = 45_000


def write(path: Path) -> int:
    """Writes the records as one JSON object and gives its size in bytes."""
    records = [
        {
            "id": i,
            "name": f"customer record number {i:06}",
            "email": f"user{i}@example.com",
            "active": i % 2 == 0,
            "score": i % 100 + 0.25,
            "city": "Springfield",
            "tags": ["alpha", "beta", "gamma"],
            "address": f"{i} Long Street Name, Some Town, ZZ 12345",
        }
        for i in range(RECORDS)
    ]
    return path.write_text(json.dumps({"records": records}, separators=(",", ":")))


def filtered(path: Path) -> int:
    everything = json.loads(path.read_text())["records"]
    return len([r["id"] for r in everything if r["active"] and r["score"] > 50])


def main() -> None:
    rounds = []
    for _ in range(5):
        started = time.perf_counter()
        found = filtered(Path(sys.argv[1]))
        rounds.append((time.perf_counter() - started) * 1e3)
    print(json.dumps({"ms": rounds, "result": found}))


if __name__ == "__main__":
    main()
