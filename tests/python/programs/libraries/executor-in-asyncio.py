# Blocking functions in an executor, awaited.
import asyncio
from concurrent.futures import ThreadPoolExecutor

def checksum(text):
    return sum(text.encode()) % 997

async def main():
    loop = asyncio.get_running_loop()
    pages = await asyncio.gather(*[tools.wiki.get_page(slug=s) for s in ("home", "setup", "faq")])
    with ThreadPoolExecutor(max_workers=2) as pool:
        sums = await asyncio.gather(*[loop.run_in_executor(pool, checksum, p["html"]) for p in pages])
    default = await loop.run_in_executor(None, checksum, "x")
    return sums, default, await asyncio.to_thread(max, 3, 5)

asyncio.run(main())
