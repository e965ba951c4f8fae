# The guard of a script.
import asyncio
import sys

async def main() -> int:
    pages = await tools.wiki.list_pages()
    print(len(pages["pages"]), "pages", len(sys.argv) >= 0)
    return 0

if __name__ == "__main__":
    asyncio.run(main())
