# `asyncio.timeout` ends a slow call, a fast one beside it is kept.
import asyncio

async def guarded(ms):
    try:
        async with asyncio.timeout(0.25):
            return await tools.flaky.wait(ms=ms, value=f"{ms} ms")
    except TimeoutError:
        return {"value": "too slow"}

for ms in (5, 900):
    print((await guarded(ms))["value"])
