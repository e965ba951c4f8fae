# `asyncio.get_event_loop()` as older programs have it.
# stderr: any
import asyncio

async def main():
    await asyncio.sleep(0)
    return (await tools.wiki.get_page(slug="home"))["title"]

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
print(asyncio.get_event_loop().run_until_complete(main()))
print(asyncio.get_event_loop() is loop, loop.is_running())
