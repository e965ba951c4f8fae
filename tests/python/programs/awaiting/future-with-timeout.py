# A future that nobody sets, under a timeout.
import asyncio

future = asyncio.get_running_loop().create_future()
async with asyncio.timeout(0.1):
    await future
