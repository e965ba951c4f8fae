"""Runs one program of `programs/` in this interpreter and prints how long it took inside.

Usage: `native.py PROGRAM`; one line of JSON: milliseconds and the program's `result`.
"""

import json
import sys
import time
from pathlib import Path


def main() -> None:
    source = Path(sys.argv[1]).read_text()
    names: dict[str, object] = {"__name__": "program"}
    started = time.perf_counter()
    exec(compile(source, "program", "exec"), names)  # noqa: S102
    took = time.perf_counter() - started
    print(json.dumps({"ms": took * 1e3, "result": names["result"]}))


if __name__ == "__main__":
    main()
