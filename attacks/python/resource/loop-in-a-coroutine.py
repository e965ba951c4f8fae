# attack: coroutines that refuse to be cancelled and never give back control
# property: S21
# timeout_ms: 700
# expect: error timeout
import asyncio


async def stubborn():
    while True:
        try:
            await asyncio.sleep(0)
        except BaseException:
            pass


async def main():
    try:
        async with asyncio.timeout(0.05):
            await asyncio.gather(*(stubborn() for _ in range(10)))
    finally:
        while True:
            pass


asyncio.run(main())
