# Async iterators, comprehensions, context managers and generators closed early.
import asyncio
from contextlib import asynccontextmanager

class Countdown:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        await asyncio.sleep(0)
        return self.n

@asynccontextmanager
async def session(name):
    print("open", name)
    try:
        yield lambda slug: tools.wiki.get_page(slug=slug)
    finally:
        await asyncio.sleep(0)
        print("close", name)

async def titles():
    try:
        for slug in ("home", "setup", "faq"):
            yield (await tools.wiki.get_page(slug=slug))["title"]
    finally:
        print("titles closed")

print([n async for n in Countdown(4) if n != 2], {n: n * n async for n in Countdown(2)})
async with session("wiki") as get:
    print((await get("orphan"))["title"])
generator = titles()
async for title in generator:
    print(title)
    if title == "Setup":
        break
await generator.aclose()
sum([len(t) async for t in titles()])
