# Nested timeouts; the outer one wins, and is rescheduled.
import asyncio

async def attempt():
    try:
        async with asyncio.timeout(5) as outer:
            outer.reschedule(asyncio.get_running_loop().time() + 0.05)
            async with asyncio.timeout(5):
                await tools.flaky.wait(ms=700)
    except TimeoutError:
        return "outer", outer.expired()

print(await attempt())
async with asyncio.timeout(None):
    print((await tools.shapes.echo(value="no limit"))["value"])
