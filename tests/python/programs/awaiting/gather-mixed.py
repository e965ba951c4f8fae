# Calls, coroutines, futures and sleeps in one gather.
import asyncio

async def double(n):
    r = await tools.shapes.echo(value=n)
    return r["value"] * 2

future = asyncio.get_running_loop().create_future()
asyncio.get_running_loop().call_later(0.01, future.set_result, "set")
await asyncio.gather(double(4), asyncio.sleep(0.005, "slept"), future, asyncio.create_task(double(5)), asyncio.gather(double(6), double(7)))
