"""Runs programs of the corpus on native CPython, over the fake world.

    python3 reference.py [NAME...]            compare with what is stored
    python3 reference.py --write [NAME...]    store what comes
    python3 reference.py --show NAME          show it

Every program runs in a process of its own, forked from this one.
"""

import argparse
import asyncio
import io
import json
import linecache
import os
import signal
import sys
import tempfile
import threading
import traceback
import types
from pathlib import Path
from typing import Any

from corpus import Outcome, Program, dump, programs
from reading import FILE, LAST, RETURNED, Readable, Returned, read
from render import rendered
from shim import globals_for
from shim.calls import Call

# Longest run of one program, in seconds.
PATIENCE_S = 20
# Where programs write files, cleared after each: files named so below /tmp.
SCRATCH = "corpus-*"

run_plainly = asyncio.run


def execute(program: Program) -> Outcome:
    """Runs a program in this process, which is of no use afterwards."""
    out, err = sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        readable = read(program.source)
    except SyntaxError as error:
        return {"error": {"kind": "syntax", "line": error.lineno, "message": _message(error)}}
    linecache.cache[FILE] = (len(readable.text), None, readable.text.splitlines(keepends=True), FILE)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    ended: Outcome
    try:
        vars(module).update(globals_for(program.input, is_async=readable.is_async))
        vars(module)[RETURNED] = Returned
        asyncio.run = run_beside
        ended = {"value": rendered(_value(readable, vars(module), out))}
    except (Exception, SystemExit) as error:
        ended = _ended_by(error)
    return {**ended, "stdout": out.getvalue(), "stderr": err.getvalue()}


def run_beside(main: Any, **more: Any) -> Any:
    """`asyncio.run` that also works below a running loop, which the engine allows."""
    if asyncio._get_running_loop() is None:
        return run_plainly(main, **more)
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(run_plainly(main, **more)))
    thread.start()
    thread.join()
    return ended[0]


def _value(program: Readable, names: dict[str, Any], printed: io.StringIO) -> Any:
    """The value of a program: what it returned, else its last expression, else `result` when it printed nothing."""
    try:
        _awaited(eval(program.code, names))
    except Returned as returned:
        return _awaited(returned.value)
    if program.entry is not None:
        return _awaited(names[program.entry](*[names["input"]] * program.entry_takes_input))
    if names.get(LAST) is not None:
        return _awaited(names[LAST])
    return None if printed.getvalue() else names.get("result")


def _awaited(value: Any) -> Any:
    if isinstance(value, Call):
        return value.now()
    return asyncio.run(value) if asyncio.iscoroutine(value) else value


def _ended_by(error: BaseException) -> Outcome:
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return {}
    return {"error": {"kind": "exception", "line": _line(error), "message": _message(error)}}


def _line(error: BaseException) -> int | None:
    """The line of the program's own innermost frame."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    return frames[-1].lineno if frames else None


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def run(program: Program) -> Outcome:
    """What a program does, run in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        text, status = _forked(program, directory)
    for left in Path("/tmp").glob(SCRATCH):
        left.unlink()
    if not text:
        raise RuntimeError(f"{program.name} ended its process with status {status}")
    return program.compared(json.loads(text))


def _forked(program: Program, directory: str) -> tuple[str, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(program, directory, writing)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text, status


def _be_child(program: Program, directory: str, writing: int) -> None:
    code = 1
    try:
        os.chdir(directory)
        os.environ["HOME"] = directory
        sys.argv = [FILE]
        signal.alarm(PATIENCE_S)
        # What happens to be installed beside this interpreter is not part of the reference.
        sys.path = [path for path in sys.path if "-packages" not in path]
        text = json.dumps(execute(program))
        with open(writing, "w") as pipe:
            pipe.write(text)
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Runs programs of the corpus on native CPython.")
    parser.add_argument("--write", action="store_true", help="store what comes")
    parser.add_argument("--show", action="store_true", help="show what comes")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a program, or a part of its name; all when absent")
    options = parser.parse_args()
    chosen = [each for each in programs() if not options.names or any(name in each.name for name in options.names)]
    here = [each for each in chosen if each.runs_here]
    differing = 0
    for program in here:
        outcome = run(program)
        if options.show:
            print(f"{program.name}: {dump(outcome)}", end="")
        elif options.write:
            program.reference_path.write_text(dump(outcome))
        elif (stored := program.reference_path.read_text()) != dump(outcome):
            differing += 1
            print(f"{program.name} differs:\n{stored}{dump(outcome)}", end="")
    version = ".".join(map(str, sys.version_info[:3]))
    print(
        f"{len(here)} programs on CPython {version}, {len(chosen) - len(here)} left out, {differing} differ",
        file=sys.stderr,
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
