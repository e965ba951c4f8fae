# A task that still runs when the program returns: here it is run to its end, and the value is written after that.
import asyncio

seen = []

async def follow(slug):
    await tools.wiki.get_page(slug=slug)
    seen.append("first")
    await tools.wiki.get_page(slug=slug)
    seen.append("second")

await tools.wiki.list_pages()
asyncio.create_task(follow("home"))
return seen
