# Producer, three workers, a sentinel for each.
import asyncio

async def worker(name, queue, results):
    while True:
        slug = await queue.get()
        if slug is None:
            return name
        page = await tools.wiki.get_page(slug=slug)
        results[slug] = page["title"]
        queue.task_done()

async def main():
    queue: asyncio.Queue[str | None] = asyncio.Queue(maxsize=2)
    results: dict[str, str] = {}
    workers = [asyncio.create_task(worker(i, queue, results)) for i in range(3)]
    for slug in (await tools.wiki.list_pages())["pages"]:
        await queue.put(slug)
    await queue.join()
    for _ in workers:
        await queue.put(None)
    names = await asyncio.gather(*workers)
    return sorted(names), dict(sorted(results.items()))

names, titles = asyncio.run(main())
print(names)
titles
