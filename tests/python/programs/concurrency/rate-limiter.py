# A token bucket as an async context manager.
import asyncio
import time

class Limiter:
    def __init__(self, per_second: float):
        self.gap = 1 / per_second
        self.next = 0.0

    async def __aenter__(self):
        now = time.monotonic()
        self.next = max(self.next, now) + self.gap
        await asyncio.sleep(self.next - self.gap - now)
        return self

    async def __aexit__(self, *exc):
        return False

async def main():
    limiter = Limiter(100)
    stamps = []
    async def one(n):
        async with limiter:
            stamps.append(time.monotonic())
            return (await tools.shapes.echo(value=n))["value"]
    values = await asyncio.gather(*(one(n) for n in range(5)))
    spread = stamps[-1] - stamps[0]
    print(values, 0.035 <= spread < 0.5)

asyncio.run(main())
