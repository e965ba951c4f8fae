"""Waiting: asyncio over the host's clock, and what can never end."""

import pytest
from conftest import in_virtual_time

ASYNC = "import asyncio\n"


@pytest.mark.parametrize(
    "program, value",
    [
        ("await asyncio.sleep(0.01, 'slept')", "slept"),
        ("async def main():\n    await asyncio.sleep(0)\n    return 1\nasyncio.run(main())", 1),
        ("async def main():\n    return 1\nx = asyncio.run(main())\ny = await main()\n[x, y]", [1, 1]),
        ("async def inner():\n    return 2\nasync def main():\n    return asyncio.run(inner())\nawait main()", 2),
        ("async def f():\n    return 3\nloop = asyncio.get_event_loop()\nloop.run_until_complete(f())", 3),
        ("async def f():\n    await asyncio.sleep(0.01)\n    return 4\nasync def main():\n    return asyncio.get_running_loop().run_until_complete(f())\nawait main()", 4),
        ("async def f():\n    return 5\nwith asyncio.Runner() as runner:\n    x = runner.run(f())\nx", 5),
        ("async def f():\n    return 6\nasyncio.new_event_loop().run_until_complete(f())", 6),
        ("q = asyncio.Queue()\nasync def produce():\n    for i in range(3):\n        await q.put(i)\n    await q.put(None)\nasync def consume():\n    got = []\n    while (i := await q.get()) is not None:\n        got.append(i)\n    return got\n(await asyncio.gather(produce(), consume()))[1]", [0, 1, 2]),
        ("try:\n    async with asyncio.timeout(0.01):\n        await asyncio.Event().wait()\nexcept TimeoutError:\n    x = 'timed out'\nx", "timed out"),
        ("try:\n    await asyncio.wait_for(tools.shop.slow(), 0.02)\nexcept asyncio.TimeoutError:\n    x = 'timed out'\nx", "timed out"),
        ("s = asyncio.Semaphore(2)\nmost = now = 0\nasync def f():\n    global most, now\n    async with s:\n        now += 1\n        most = max(most, now)\n        await tools.shop.get_order(id=1)\n        now -= 1\nawait asyncio.gather(*[f() for _ in range(6)])\nmost", 2),
        ("t = asyncio.create_task(asyncio.sleep(10))\nawait asyncio.sleep(0)\nt.cancel()\ntry:\n    await t\nexcept asyncio.CancelledError:\n    x = 'cancelled'\nx", "cancelled"),
        ("r = await asyncio.gather(tools.shop.fail(message='a'), tools.shop.get_order(id=1), return_exceptions=True)\n[type(r[0]).__name__, r[1].total]", ["ToolError", 2]),
        ("try:\n    async with asyncio.TaskGroup() as g:\n        g.create_task(tools.shop.fail(message='a'))\n        g.create_task(tools.shop.slow())\nexcept* ToolError as group:\n    x = [str(e) for e in group.exceptions]\nx", ["a"]),
        ("async def numbers():\n    for i in range(3):\n        await asyncio.sleep(0)\n        yield i\n[i async for i in numbers()]", [0, 1, 2]),
        ("from contextlib import asynccontextmanager\n@asynccontextmanager\nasync def c():\n    yield 7\nasync with c() as x:\n    pass\nx", 7),
        ("lock = asyncio.Lock()\nasync with lock:\n    x = lock.locked()\nx", True),
        ("done = False\nasync def later():\n    global done\n    await tools.shop.get_order(id=1)\n    done = True\nt = asyncio.create_task(later())\nwhile not done:\n    await asyncio.sleep(0)\ndone", True),
        ("t = asyncio.create_task(tools.shop.get_order(id=1))\nd, p = await asyncio.wait([t], timeout=5)\n[len(d), len(p)]", [1, 0]),
        ("e = asyncio.Event()\nasyncio.get_running_loop().call_later(0.01, e.set)\nawait e.wait()", True),
        ("await asyncio.shield(tools.shop.get_order(id=2))", {"id": 2, "total": 4}),
        ("b = asyncio.Barrier(2)\nr = await asyncio.gather(b.wait(), b.wait())\nsorted(r)", [0, 1]),
        ("import contextvars\nv = contextvars.ContextVar('v', default=0)\nasync def f():\n    v.set(1)\nawait asyncio.create_task(f())\nv.get()", 0),
        ("import nest_asyncio\nnest_asyncio.apply()\nasync def f():\n    return 8\nasyncio.run(f()) + await f()", 16),
        ("await asyncio.to_thread(sum, [1, 2])", 3),
        ("async def f():\n    raise ValueError('x')\nt = asyncio.create_task(f())\nawait asyncio.wait([t])\nstr(t.exception())", "x"),
    ],
)  # fmt: skip
def test_asyncio_works(run, program, value):
    assert run(ASYNC + program).value == value


@in_virtual_time
@pytest.mark.parametrize(
    "program, ms",
    [
        ("import time\ntime.sleep(2)", 2000),
        ("import time\ntime.sleep(0)", 0),
        ("import asyncio\nawait asyncio.sleep(3600)", 3_600_000),
        ("import asyncio\nawait asyncio.gather(*[asyncio.sleep(1) for _ in range(50)])", 1000),
        ("import time, asyncio\nasync def f():\n    time.sleep(1)\nawait asyncio.gather(f(), f())", 2000),
        ("import threading\nthreading.Event().wait(0.5)", 500),
        ("import time\nfor _ in range(10):\n    time.sleep(0.1)", 1000),
    ],
)
def test_waiting_takes_the_time_it_says_and_no_other(run, program, ms):
    ended = run(program)
    assert ended.kind == 0
    assert ended.took_ms == pytest.approx(ms, abs=0.1)
    assert ended.gateway.waits <= 11


@in_virtual_time
def test_the_clock_stands_still_while_a_program_computes(run):
    program = """
import time, datetime
start = time.time(), time.monotonic()
sum(range(100_000))
still = (time.time(), time.monotonic()) == start
time.sleep(1.5)
return [still, round(time.time() - start[0], 6), round(time.monotonic() - start[1], 6)]
"""
    assert run(program).value == [True, 1.5, 1.5]


@pytest.mark.parametrize(
    "program, line",
    [
        ("import asyncio\nx = 1\nawait asyncio.Event().wait()", 3),
        ("import asyncio\nasync def main():\n    q = asyncio.Queue()\n    await q.get()\nasyncio.run(main())", 4),
        ("import asyncio\nawait asyncio.get_running_loop().create_future()", 2),
        ("import asyncio\nawait tools.shop.get_order(id=1)\na, b = asyncio.Lock(), asyncio.Lock()\nawait a.acquire()\nawait a.acquire()", 5),
        ("import asyncio\nasync def f(e):\n    await e.wait()\ne = asyncio.Event()\nawait asyncio.gather(f(e), f(e))", 5),
    ],
)  # fmt: skip
def test_a_program_that_waits_for_what_cannot_come_ends_and_says_where(run, program, line):
    error = run(program).error
    assert error["name"] == "NeverSettles"
    assert error["message"] == "the program waits for something that nothing will settle"
    assert error["line"] == line
    assert "never resolved" in error["hint"]


@pytest.mark.parametrize(
    "program",
    [
        "import threading\nthreading.Event().wait()",
        "import queue\nqueue.Queue().get()",
        "import queue\nqueue.SimpleQueue().get()",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "import threading\nc = threading.Condition()\nwith c:\n    c.wait()",
        "import threading\nthreading.Semaphore(0).acquire()",
        "import threading\nthreading.Barrier(2).wait()",
    ],
)
def test_waiting_for_another_thread_is_refused_where_it_would_never_end(run, program):
    error = run(program).error
    assert error["name"] == "RuntimeError"
    assert "there are no threads here" in error["message"]


def test_threads_run_when_they_are_started(run):
    program = """
import threading
counter, names, lock, results = 0, [], threading.Lock(), {}
class Worker(threading.Thread):
    def run(self):
        names.append(threading.current_thread().name)
def work(i):
    global counter
    with lock:
        counter += i
    results[i] = tools.shop.get_order(id=i).total
threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join(timeout=5)
worker = Worker(name="one")
worker.start()
worker.join()
threading.Thread(target=lambda: 1 / 0).start()
threading.Timer(0.01, names.append, ["timer"]).start()
try:
    worker.start()
except RuntimeError as error:
    twice = str(error)
return [counter, results, names, any(t.is_alive() for t in threads), threading.current_thread().name, twice]
"""
    ended = run(program)
    assert ended.value == [
        6, {"0": 0, "1": 2, "2": 4, "3": 6}, ["one", "timer"], False, "MainThread", "threads can only be started once",
    ]  # fmt: skip
    assert "Exception in thread Thread-" in ended.stderr
    assert ended.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "limbeck_guest" not in ended.stderr


def test_locks_of_one_thread_work_as_everywhere(run):
    program = """
import queue, threading
lock, rlock, q = threading.Lock(), threading.RLock(), queue.Queue()
with lock, rlock, rlock:
    held = lock.locked()
    refused = lock.acquire(blocking=False)
q.put(1)
try:
    lock.release()
except RuntimeError as error:
    released = str(error)
return [held, refused, lock.locked(), q.get(), q.empty(), released, lock.acquire(timeout=0.01), lock.acquire(timeout=0.01)]
"""
    assert run(program).value == [True, False, False, 1, True, "release unlocked lock", True, False]


def test_what_is_left_at_the_end_is_cancelled_and_cleans_up(run):
    program = """
import asyncio
async def worker():
    try:
        await asyncio.sleep(100)
    finally:
        print("cleaned up")
task = asyncio.create_task(worker())
await asyncio.sleep(0)
"done"
"""
    ended = run(program)
    assert (ended.value, ended.stdout) == ("done", "cleaned up\n")


def test_tasks_whose_error_nobody_asks_for_are_told(run):
    program = """
import asyncio, gc
async def fail():
    raise ValueError("unseen")
asyncio.create_task(fail())
await asyncio.sleep(0.01)
1
"""
    ended = run(program)
    assert ended.value == 1
    assert "ValueError: unseen" in ended.stderr


@in_virtual_time
@pytest.mark.parametrize(
    "loop",
    [
        "while time.time() < start + 2:\n    pass",
        "while time.monotonic() - start < 2:\n    n = 1",
        "while True:\n    if time.time() - start > 2:\n        break",
    ],
)
@pytest.mark.parametrize("wait", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_a_loop_until_a_time_ends_though_nothing_in_it_waits(run, wait, loop):
    ended = run(f"import time\n{wait}start = time.time()\n{loop}\nreturn 'done'")
    assert ended.value == "done"
    assert 2000 <= ended.took_ms <= 2050


@in_virtual_time
def test_a_loop_that_waits_by_itself_has_no_other_waits(run):
    ended = run("import time\nstart = time.time()\nwhile time.time() < start + 2:\n    time.sleep(0.5)\nreturn 'done'")
    assert (ended.value, ended.gateway.waits) == ("done", 4)
