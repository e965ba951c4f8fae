"""What the gateway and its Python worker cost, with the same in TypeScript beside it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import engines
from processes import Process
from report import Report, percentile_90, shown
from served import Served

# Longer than the pool needs to be full again; a model does not send programs back to back.
PAUSE_S = 0.05

ONE = {"python": "print(1+1)", "typescript": "console.log(1+1)"}
SEQUENTIAL = {
    "python": 'n = 0\nfor i in range(1000):\n    n += len((await tools.t.get(i=i))["items"])\nreturn n',
    "typescript": "let n = 0; for (let i = 0; i < 1000; i++) n += (await tools.t.get({ i }) as any).items.length; return n",
}
TOGETHER = {
    "python": (
        "import asyncio\n"
        "everything = await asyncio.gather(*[tools.t.get(i=i) for i in range(1000)])\n"
        'return sum(len(r["items"]) for r in everything)'
    ),
    "typescript": (
        "const all = await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.t.get({ i })));"
        "return all.reduce((n, r: any) => n + r.items.length, 0)"
    ),
}
FILTER = {
    "python": (
        'everything = (await tools.t.all())["records"]\n'
        'return len([r["id"] for r in everything if r["active"] and r["score"] > 50])'
    ),
    "typescript": (
        "const { records } = await tools.t.all({}) as any;"
        "return records.filter(r => r.active && r.score > 50).map(r => r.id).length"
    ),
}
MEASURE = {
    "python": "held = [{'i': i} for i in range(1000)]\nreturn (await tools.t.measure())['processes']",
    "typescript": (
        "const held = Array.from({ length: 1000 }, (_, i) => ({ i }));"
        "return held.length && (await tools.t.measure({}) as any).processes"
    ),
}


def executed(served: Served, language: str, program: str) -> float:
    """Milliseconds of one program, with a pool that has had time to fill."""
    time.sleep(PAUSE_S)
    took, _ = served.execute(language, program)
    return took


def starts(report: Report, serve: Callable[[], Served], rounds: int) -> None:
    """The first and second execution of a gateway, sent as soon as it answered `initialize`."""
    for language in ("python", "typescript"):
        firsts, seconds, beyond = [], [], []
        for _ in range(rounds):
            with serve() as served:
                first, _ = served.execute(language, ONE[language])
                second, _ = served.execute(language, ONE[language])
                warm = median(executed(served, language, ONE[language]) for _ in range(9))
            firsts.append(first)
            seconds.append(second)
            beyond.append(first - warm)
        if language == "python":
            report.time("start: first Python execution, beyond the pooled one", beyond, 150)
        report.time(f"start: first execution, {language}", firsts)
        report.time(f"start: second execution, at once, {language}", seconds)


def pooled(report: Report, served: Served, rounds: int) -> float:
    """The pooled `print(1+1)`; gives the median for Python in milliseconds."""
    medians = {}
    for language, promise in (("python", 6.0), ("typescript", None)):
        executed(served, language, ONE[language])
        samples = [executed(served, language, ONE[language]) for _ in range(rounds)]
        note = f"p90 {shown(percentile_90(samples))}"
        medians[language] = report.time(f"stdio: {ONE[language]}, pooled", samples, promise, note)
    return medians["python"]


def calls(report: Report, served: Served, rounds: int) -> None:
    for way, programs in (("one after another", SEQUENTIAL), ("at once", TOGETHER)):
        for language, promise in (("python", 150.0), ("typescript", None)):
            executed(served, language, programs[language])
            samples = [executed(served, language, programs[language]) for _ in range(rounds)]
            note = f"{median(samples):.0f} µs a call"
            report.time(f"calls: 1,000 reads of 1 KB, {way}, {language}", samples, promise, note)


def upstream_alone(report: Report, records: Path, rounds: int) -> None:
    """The same 1,000 reads by a client that only writes and reads lines: the floor of `calls`."""
    command = [sys.executable, engines.HERE / "upstream.py", records]
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get", "arguments": {"i": 1}}}
    line = json.dumps(request).encode() + b"\n"
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as upstream:
        samples = []
        for _ in range(rounds):
            started = time.perf_counter()
            for _ in range(1000):
                upstream.stdin.write(line)
                upstream.stdin.flush()
                upstream.stdout.readline()
            samples.append((time.perf_counter() - started) * 1e3)
        upstream.stdin.close()
    report.time("calls: the upstream alone, asked 1,000 times without a gateway", samples)


def filtering(report: Report, served: Served, records: Path, size: int, rounds: int) -> None:
    """Ten megabytes through the gateway, beside this interpreter reading, parsing, filtering the file."""
    printed = subprocess.check_output([sys.executable, "-I", engines.HERE / "big.py", records])
    native = json.loads(printed)
    ours = median(native["ms"])
    for language in ("python", "typescript"):
        samples = []
        for _ in range(rounds):
            time.sleep(PAUSE_S)
            took, envelope = served.execute(language, FILTER[language])
            if envelope["value"] != native["result"]:
                raise RuntimeError(f"{language} found {envelope['value']} records, not {native['result']}")
            samples.append(took)
        note = f"{median(samples) / ours:.2f} times native CPython ({shown(ours)}); {size} bytes"
        promise = 3 * ours if language == "python" else None
        report.time(f"json: 10 MB delivered and filtered, {language}", samples, promise, note)


def memory(report: Report, served: Served) -> None:
    """Private pages of the worker that runs a program, measured by a call it waits for."""
    for language, promise in (("python", "20 MB"), ("typescript", "")):
        time.sleep(PAUSE_S)
        _, envelope = served.execute(language, MEASURE[language])
        alive: list[Process] = [p for p in envelope["value"] if language in p["command"].split()]
        workers = [p["private_kb"] for p in alive if not p["children"]]
        shared = [p["private_kb"] for p in alive if p["children"]]
        note = f"{len(workers)} workers alive; the process they are forked from {megabytes(max(shared, default=0))}"
        report.row(f"memory: one live {language} execution, private", megabytes(max(workers)), promise, note)


def megabytes(kb: int) -> str:
    return f"{kb / 1024:.1f} MB"
