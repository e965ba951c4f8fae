"""What Python costs: `cargo xtask bench python`.

Usage: `python3 benches/python LIMBECK NODE_MODULES`. One run measures the gateway over standard input
and output, then the same programs in this interpreter and in Pyodide. Absolute times on a shared machine
are noise; every ratio has both sides from the same run.
"""

import json
import platform
import sys
import tempfile
from pathlib import Path

import big
import compute
import engines
import gateway
from report import Report
from served import Served

# Rounds of each part; more where one round is short.
ROUNDS = {"starts": 5, "pooled": 100, "calls": 7, "filtering": 5, "compute": 5}


def main() -> None:
    limbeck, modules = (Path(argument).resolve() for argument in sys.argv[1:])
    report = Report()
    report.row("native CPython", platform.python_version())
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        records = root / "big.json"
        size = big.write(records)
        config = root / "mcp.json"
        upstream = {"command": sys.executable, "args": [str(engines.HERE / "upstream.py"), str(records)]}
        config.write_text(json.dumps({"mcpServers": {"t": upstream}}))

        def serve() -> Served:
            return Served(limbeck, config, Path(tempfile.mkdtemp(dir=root)))

        gateway.starts(report, serve, ROUNDS["starts"])
        with serve() as served:
            one_ms = gateway.pooled(report, served, ROUNDS["pooled"])
            gateway.memory(report, served)
            gateway.calls(report, served, ROUNDS["calls"])
            gateway.upstream_alone(report, records, ROUNDS["calls"])
            gateway.filtering(report, served, records, size, ROUNDS["filtering"])
            compute.compare(report, served, modules, one_ms, ROUNDS["compute"])
    report.print()


if __name__ == "__main__":
    main()
