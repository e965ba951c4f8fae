# `wait_for` with its own timeout error.
import asyncio

async def main():
    ok = await asyncio.wait_for(tools.flaky.wait(ms=5, value=1), timeout=5)
    try:
        await asyncio.wait_for(tools.flaky.wait(ms=800, value=2), timeout=0.05)
    except asyncio.TimeoutError as error:
        return ok["value"], type(error).__name__, isinstance(error, TimeoutError)

print(asyncio.run(main()))
