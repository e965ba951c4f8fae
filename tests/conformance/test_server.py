"""Server scenarios of the suite for both revisions: with the fixture alone, with Limbeck that passes the
fixture on, and of Limbeck as it is.
"""

from pathlib import Path

import pytest

import limbeck
import suite

# Scenarios that every revision's set requires (`conformance list --requirements REVISION`).
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
# The tasks extension is not passed on: tasks are followed in the gateway, which answers when they end.
# These are reported and never scored.
UNSCORED = {
    "2025-11-25": [],
    "2026-07-28": ["tasks-"],
}

# Requirements of every server, independent of its tools (reference: the suite's scenarios that name no fixture).
CODE_MODE = {
    "2025-11-25": [
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "dns-rebinding-protection",
        "server-sse-multiple-streams",
        "server-sse-polling",
    ],
    "2026-07-28": [
        "tools-list",
        "caching",
        "http-header-validation",
        "dns-rebinding-protection",
        "server-sse-multiple-streams",
        "input-required-result-unsupported-methods",
        "server-stateless",
    ],
}
# Checks that cannot hold, each with its reason. One that holds after all fails its test.
BASELINE_CODE_MODE = {
    # They call a diagnostic tool, which Limbeck has no reason to have.
    "server-stateless:sep-2575-server-rejects-undeclared-capability",
    "server-stateless:sep-2575-missing-capability-http-400",
    "server-stateless:sep-2575-http-server-no-independent-requests-on-stream",
    "server-stateless:sep-2575-server-no-log-without-loglevel",
}


def checks_of(failed: list[str]) -> set[str]:
    """`scenario:check` of each."""
    return {":".join(line.split(":")[:2]) for line in failed}


def failed_and_scored(run: suite.Run, revision: str) -> list[str]:
    return [line for line in run.failed if not line.startswith(tuple(UNSCORED[revision]) or ("\0",))]


@pytest.mark.parametrize("revision", suite.REVISIONS)
def test_the_fixture_alone_meets_every_requirement(revision: str, tmp_path: Path) -> None:
    with suite.serving(suite.built("conformance-fixture"), "--http", "127.0.0.1:0") as address:
        run = suite.run(address, tmp_path, "--requirements", revision)
    assert failed_and_scored(run, revision) == []
    assert run.ok, run.output
    assert len(run.scenarios) >= REQUIRED[revision]


@pytest.mark.parametrize("revision", suite.REVISIONS)
def test_a_server_that_is_passed_on_meets_every_requirement(revision: str, tmp_path: Path) -> None:
    entry = {"command": suite.built("conformance-fixture"), "expose": "direct"}
    with limbeck.serving(tmp_path, entry) as address:
        run = suite.run(address, tmp_path, "--requirements", revision)
    assert failed_and_scored(run, revision) == []
    assert len(run.scenarios) >= REQUIRED[revision]


@pytest.mark.parametrize("revision", suite.REVISIONS)
def test_code_mode_does_what_any_server_has_to_do(revision: str, tmp_path: Path) -> None:
    failed, passed = [], 0
    with limbeck.serving(tmp_path, {"command": suite.built("conformance-fixture")}) as address:
        for scenario in CODE_MODE[revision]:
            directory = tmp_path / scenario
            run = suite.run(address, directory, "--scenario", scenario, "--spec-version", revision)
            assert run.scenarios, run.output
            failed += run.failed
            passed += run.passed_checks
    baseline = BASELINE_CODE_MODE if revision == "2026-07-28" else set()
    assert checks_of(failed) == baseline
    assert passed >= len(CODE_MODE[revision])
