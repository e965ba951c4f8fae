# At most three at a time, the highest seen is counted.
import asyncio

limit = asyncio.Semaphore(3)
running = highest = 0

async def fetch(n):
    global running, highest
    async with limit:
        running += 1
        highest = max(highest, running)
        result = await tools.flaky.wait(ms=10, value=n * n)
        running -= 1
        return result["value"]

values = await asyncio.gather(*(fetch(n) for n in range(12)))
print(values, highest)
