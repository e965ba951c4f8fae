# Results in the order they arrive.
import asyncio

async def timed(ms):
    return (await tools.flaky.wait(ms=ms, value=ms))["value"]

order = []
for future in asyncio.as_completed([timed(300), timed(10), timed(150)]):
    order.append(await future)
order
