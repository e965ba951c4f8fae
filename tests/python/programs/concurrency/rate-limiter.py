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
        slot = self.next - self.gap
        await asyncio.sleep(slot - now)
        return slot

    async def __aexit__(self, *exc):
        return False

async def main():
    limiter = Limiter(100)
    early, slots = [], []
    async def one(n):
        async with limiter as slot:
            early.append(time.monotonic() < slot - 0.001)
            slots.append(slot)
            return (await tools.shapes.echo(value=n))["value"]
    values = await asyncio.gather(*(one(n) for n in range(5)))
    print(values, any(early), [round(b - a, 3) for a, b in zip(slots, slots[1:])])

asyncio.run(main())
