# The last expression may be a call, awaited or not.
import asyncio

async def main():
    page = await tools.wiki.get_page(slug="home")
    return page["title"].lower()

asyncio.run(main())
