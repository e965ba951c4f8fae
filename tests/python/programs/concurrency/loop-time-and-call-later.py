# Callbacks of the loop, in order of their time.
import asyncio

async def main():
    loop = asyncio.get_running_loop()
    seen = []
    finished = loop.create_future()
    loop.call_later(0.03, lambda: (seen.append("late"), finished.set_result(len(seen))))
    loop.call_later(0.01, seen.append, "early")
    loop.call_soon(seen.append, "soon")
    started = loop.time()
    count = await finished
    print(seen, count, loop.time() - started >= 0.029)

asyncio.run(main())
