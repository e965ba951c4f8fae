"""After the return: tasks that still run are run to their end, before the value is written."""

import pytest
from conftest import in_virtual_time
from gateway import SERVERS, Gateway, ToolSpec

ASYNC = "import asyncio\n"
TWO_WRITES = """
import asyncio
done = []
async def save(i):
    await tools.shop.create_order(item=i)
    await tools.shop.create_order(item=-i)
    done.append(i)
"""
STARTED = [
    "for i in (1, 2):\n    asyncio.create_task(save(i))\nreturn done",
    "await asyncio.sleep(0)\nfor i in (1, 2):\n    asyncio.create_task(save(i))\nreturn done",
    "await asyncio.sleep(0)\nfor i in (1, 2):\n    asyncio.ensure_future(save(i))\nreturn {'done': done}['done']",
    "async def main():\n    for i in (1, 2):\n        asyncio.create_task(save(i))\n    return done\nasyncio.run(main())",
    "async def main():\n    for i in (1, 2):\n        asyncio.create_task(save(i))\n    return done\nawait main()",
    "loop = asyncio.get_event_loop()\nfor i in (1, 2):\n    loop.create_task(save(i))\ndone",
]


def _warnings(ended):
    return ended.gateway.lines[2]


@pytest.mark.parametrize("started", STARTED)
def test_tasks_that_run_at_the_return_are_run_to_their_end(run, started):
    ended = run(TWO_WRITES + started)
    assert sorted(call["item"] for _, call in ended.gateway.calls) == [-2, -1, 1, 2]
    assert sorted(ended.value) == [1, 2]
    assert any("2 tasks were still running when the program returned" in line for line in _warnings(ended))


def test_tasks_that_were_awaited_are_not_warned_of(run):
    ended = run(TWO_WRITES + "await asyncio.gather(save(1), save(2))\nreturn done")
    assert sorted(ended.value) == [1, 2]
    assert _warnings(ended) == []


@in_virtual_time
@pytest.mark.parametrize(
    "program, ms_max, warned",
    [
        # They only sleep: a second for all of them, and none for a sleep that is longer.
        ("async def f():\n    while True:\n        await asyncio.sleep(0.1)", 1000, None),
        ("async def f():\n    await asyncio.sleep(60)", 0, None),
        ("async def f():\n    while True:\n        await asyncio.sleep(0)\n        print('beat')", 0, None),
        ("async def f():\n    await asyncio.sleep(60)\n    await tools.shop.get_order(id=1)", 0, "asleep"),
        ("shop = tools.shop\nasync def g():\n    await shop.get_order(id=1)\nasync def f():\n    await asyncio.sleep(60)\n    await g()", 0, "asleep"),
        ("class A:\n    async def g(self):\n        await asyncio.sleep(60)\n        await tools.shop.get_order(id=1)\nasync def f():\n    await A().g()", 0, "asleep"),
        ("async def f():\n    await asyncio.sleep(0.5)\n    await tools.shop.create_order(item=1)", 600, "still running"),
        # No call and no timer lets them go on.
        ("q = asyncio.Queue()\nasync def f():\n    await q.get()", 0, None),
        ("async def f():\n    await asyncio.Event().wait()", 0, None),
        # The program gave the call up.
        ("async def f():\n    try:\n        await asyncio.wait_for(tools.shop.slow(), 0.1)\n    except TimeoutError:\n        pass\nawait f()", 200, "still running"),
        ("async def g():\n    await tools.shop.slow()\nt = asyncio.create_task(g())\nawait asyncio.sleep(0)\nt.cancel()\nasync def f():\n    pass", 0, None),
    ],
)  # fmt: skip
def test_what_waits_for_no_call_does_not_keep_a_program(run, program, ms_max, warned):
    ended = run(ASYNC + program + "\nt2 = asyncio.create_task(f())\nawait asyncio.sleep(0)\nreturn 'done'")
    assert ended.value == "done"
    # Some milliseconds for turns of the loop.
    assert ended.took_ms <= ms_max + 200
    warnings = _warnings(ended)
    assert len(warnings) == (warned is not None)
    assert warned is None or warned in warnings[0]


@in_virtual_time
@pytest.mark.parametrize("seconds, finished, warned", [(2, [], "asleep"), (0.2, [0.2], "still running")])
@pytest.mark.parametrize("wait", ["run_until_complete(later(seconds))", "run_until_complete(asyncio.gather(later(seconds)))"])
def test_a_plain_function_that_waits_in_a_task_keeps_a_program_as_long_as_other_sleep(run, wait, seconds, finished, warned):
    program = f"""
import asyncio
done = []
async def later(seconds):
    await asyncio.sleep(seconds)
    done.append(seconds)
def plain(seconds):
    asyncio.get_event_loop().{wait}
async def f():
    await tools.shop.get_order(id=1)
    plain({seconds})
asyncio.create_task(f())
await asyncio.sleep(0)
return done
"""
    ended = run(program)
    assert (ended.value, ended.stderr) == (finished, "")
    assert [warned in line for line in _warnings(ended)] == [True]


def test_a_generator_that_is_closed_at_the_end_is_no_task_of_the_program(run):
    program = "async def f():\n    for i in range(3):\n        yield i\nasync for i in f():\n    if i == 1:\n        return i"
    ended = run(program)
    assert (ended.value, _warnings(ended)) == (1, [])


@in_virtual_time
@pytest.mark.parametrize(
    "program, value, warned",
    [
        ("ts = [asyncio.ensure_future(t) for t in (tools.shop.get_order(id=1), tools.shop.slower())]\ndone, pending = await asyncio.wait(ts, return_when=asyncio.FIRST_COMPLETED)\nreturn len(done)", 1, 0),
        ("done, pending = await asyncio.wait([asyncio.create_task(tools.shop.slower())], timeout=0.5)\nreturn len(pending)", 1, 0),
        ("t = asyncio.create_task(tools.shop.slower())\ntry:\n    r = await asyncio.wait_for(asyncio.shield(t), 0.3)\nexcept TimeoutError:\n    r = 'late'\nreturn r", "late", 0),
        ("async def poll():\n    while True:\n        await tools.shop.get_order(id=1)\nasyncio.create_task(poll())\nawait asyncio.sleep(0)\nreturn 1", 1, 1),
        ("async def poll():\n    while True:\n        tools.shop.get_order(id=1)['id']\nasyncio.create_task(poll())\nreturn 1", 1, 1),
        ("import time\nasync def f():\n    await tools.shop.get_order(id=1)\n    time.sleep(100)\nasyncio.create_task(f())\nreturn 1", 1, 1),
        ("async def f():\n    await tools.shop.slower()\nasync def main():\n    asyncio.create_task(f())\nfor i in range(3):\n    asyncio.run(main())\nreturn 1", 1, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wall_ms, ms_max", [(60_000, 11_000), (6_000, 4_500), (10_000, 8_000)])
def test_a_program_that_has_returned_keeps_its_value(run, program, value, warned, wall_ms, ms_max):
    slower = SERVERS["shop"] | {"slower": ToolSpec(lambda a: "done", 30_000)}
    ended = run(ASYNC + program, gateway=Gateway(wall_ms=wall_ms, servers={"shop": slower}))
    assert ended.value == value
    assert ended.took_ms <= ms_max + 20
    assert sum("time after the return was over" in line for line in _warnings(ended)) == warned
    assert len(_warnings(ended)) == warned


@in_virtual_time
def test_a_call_is_awaited_for_seconds(run):
    program = "out = []\nasync def f():\n    out.append(await tools.shop.slow())\nasyncio.create_task(f())\nreturn out"
    ended = run(ASYNC + program)
    assert ended.value == ["done"]
    assert ended.took_ms >= 5000


@pytest.mark.parametrize("keep", ["", "t = "])
def test_an_error_of_such_a_task_is_a_warning(run, keep):
    program = f"async def f():\n    await tools.shop.get_order(id=1)\n    raise ValueError('unseen')\n{keep}asyncio.create_task(f())\nreturn 1"
    ended = run(ASYNC + program)
    assert ended.value == 1
    assert [line for line in _warnings(ended) if "failed" in line] == [
        "no code awaited a task that failed (line 4): ValueError: unseen"
    ]
    assert ended.stderr.count("ValueError: unseen") == 1


def test_a_task_that_ends_the_program_leaves_its_value(run):
    ended = run(ASYNC + "async def f():\n    raise SystemExit(1)\nasyncio.create_task(f())\nreturn 1")
    assert (ended.value, ended.stderr) == (1, "")


def test_a_program_that_failed_runs_no_further(run):
    ended = run(TWO_WRITES + "asyncio.create_task(save(1))\nawait asyncio.sleep(0)\nraise ValueError('stop')")
    assert ended.error["message"] == "stop"
    assert len(ended.gateway.calls) == 1


_SLOW_TASK = "t = asyncio.create_task(tools.shop.slower())\nawait asyncio.sleep(0)\n"


@in_virtual_time
@pytest.mark.parametrize(
    "program, given_up",
    [
        ("ts = [asyncio.ensure_future(t) for t in (tools.shop.get_order(id=1), tools.shop.slower())]\nawait asyncio.wait(ts, return_when=asyncio.FIRST_COMPLETED)", "2"),
        ("async def f():\n    await asyncio.gather(tools.shop.slower(), tools.shop.slower())\nawait asyncio.wait([asyncio.create_task(f())], timeout=0.1)", "1 2"),
        ("try:\n    await asyncio.wait_for(asyncio.shield(tools.shop.slower()), 0.1)\nexcept TimeoutError:\n    pass", "1"),
        ("try:\n    await asyncio.wait_for(tools.shop.slower(), 0.1)\nexcept TimeoutError:\n    pass", "1"),
        (_SLOW_TASK + "t.cancel()\nawait asyncio.sleep(0)", "1"),
        # The controls: a task that no code gave up, and calls that are answered or were never awaited.
        (_SLOW_TASK, None),
        ("await asyncio.wait_for(tools.shop.get_order(id=1), 1)", None),
        ("tools.shop.slower()\nawait asyncio.sleep(0)", None),
    ],
)  # fmt: skip
def test_calls_that_the_program_gave_up_are_named_to_the_host(run, program, given_up):
    slower = SERVERS["shop"] | {"slower": ToolSpec(lambda a: "done", 30_000)}
    ended = run(ASYNC + program + "\nreturn 1", gateway=Gateway(wall_ms=60_000, servers={"shop": slower}))
    assert ended.value == 1
    assert ended.gateway.lines[3] == ([] if given_up is None else [given_up])
