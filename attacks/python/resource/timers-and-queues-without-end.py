# attack: a million timers and items of queues, and callbacks that schedule themselves
# property: S26
# timeout_ms: 1500
# expect: error timeout|memory_limit
import asyncio

loop = asyncio.get_running_loop()
queue = asyncio.Queue()


def again():
    loop.call_soon(again)
    loop.call_later(0.001, again)
    queue.put_nowait("x" * 100)


again()
await asyncio.sleep(3600)
