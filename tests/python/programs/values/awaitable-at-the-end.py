# A call that nobody awaited is awaited when it is the value.
import asyncio

async def main():
    page = await tools.wiki.get_page(slug="faq")
    return page["title"]

main()
