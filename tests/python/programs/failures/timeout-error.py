# A timeout nobody catches.
import asyncio

async with asyncio.timeout(0.02):
    await tools.flaky.wait(ms=600)
