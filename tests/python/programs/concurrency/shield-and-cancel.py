# A shielded call goes on when its waiter is cancelled.
import asyncio

finished = []

async def important():
    r = await tools.flaky.wait(ms=150, value="kept")
    finished.append(r["value"])

async def waiter(task):
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        finished.append("waiter cancelled")
        raise

inner = asyncio.create_task(important())
outer = asyncio.create_task(waiter(inner))
await asyncio.sleep(0.005)
outer.cancel()
await asyncio.gather(outer, return_exceptions=True)
await inner
finished
