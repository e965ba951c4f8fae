# asyncio.Runner keeps one loop for several runs.
import asyncio

async def title(slug):
    return (await tools.wiki.get_page(slug=slug))["title"]

with asyncio.Runner() as runner:
    print(runner.run(title("home")), runner.run(title("faq")))
