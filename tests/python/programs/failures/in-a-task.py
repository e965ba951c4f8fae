# A failure in one of several gathered calls.
import asyncio

async def load(slug):
    page = await tools.wiki.get_page(slug=slug)
    return page["title"]

titles = await asyncio.gather(load("home"), load("no-such-page"), load("faq"))
print(titles)
