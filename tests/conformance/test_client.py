"""Client scenarios of the suite, with the gateway as the client of one server; see `driver.py`."""

import sys
from pathlib import Path

import pytest

import suite

DRIVER = Path(__file__).parent / "driver.py"
REQUIRED = {"2025-11-25": 18, "2026-07-28": 32}
SCENARIOS = [(revision, name) for revision in suite.REVISIONS for name in suite.required(revision, "client")]


def test_every_required_scenario_is_here() -> None:
    counts = {revision: sum(of == revision for of, _ in SCENARIOS) for revision in suite.REVISIONS}
    assert counts == REQUIRED


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_a_client_scenario_holds(revision: str, scenario: str, tmp_path: Path) -> None:
    run = suite.judge(
        tmp_path,
        "client",
        *("--command", f"{sys.executable} {DRIVER}"),
        *("--scenario", scenario, "--spec-version", revision),
        *("--timeout", str(suite.SCENARIO_MS)),
    )
    assert run.failed == [], run.output
    assert run.ok, run.output
    assert run.passed_checks > 0, run.output
