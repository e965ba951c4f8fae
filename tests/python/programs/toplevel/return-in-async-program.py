# The same with awaits, async for, async with and async comprehensions around the `return`.
import asyncio
from contextlib import asynccontextmanager

@asynccontextmanager
async def step(name):
    print("begin", name)
    try:
        yield name
    finally:
        print("end", name)

async def slugs():
    for slug in (await tools.wiki.list_pages())["pages"]:
        yield slug

async for slug in slugs():
    async with step(slug) as name:
        page = await tools.wiki.get_page(slug=name)
        if page["revision"] < 141:
            return {"slug": slug, "all": [s async for s in slugs()], "lengths": {s: len(s) async for s in slugs()}}
