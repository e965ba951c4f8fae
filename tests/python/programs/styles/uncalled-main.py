# A program that defines `main` and leaves calling it to us.
import asyncio

async def main():
    pages = (await tools.wiki.list_pages())["pages"]
    found = await asyncio.gather(*[tools.wiki.get_page(slug=slug) for slug in pages])
    return {page["slug"]: page["revision"] for page in found}
