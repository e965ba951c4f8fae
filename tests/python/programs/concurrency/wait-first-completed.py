# `asyncio.wait` with FIRST_COMPLETED, the rest cancelled.
import asyncio

async def fetch(ms):
    return (await tools.flaky.wait(ms=ms, value=ms))["value"]

tasks = [asyncio.create_task(fetch(ms), name=f"t{ms}") for ms in (900, 10, 1000)]
done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
print(sorted(t.get_name() for t in done), sorted(t.get_name() for t in pending))
for task in pending:
    task.cancel()
ended = await asyncio.gather(*pending, return_exceptions=True)
print([type(e).__name__ for e in ended], [t.cancelled() for t in tasks])
next(iter(done)).result()
