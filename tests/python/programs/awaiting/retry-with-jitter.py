# Retries with seeded jitter under a semaphore, several at once.
import asyncio
import random

rng = random.Random(1)
gate = asyncio.Semaphore(2)

async def fetch(key, fails):
    for attempt in range(5):
        async with gate:
            try:
                return (await tools.flaky.fetch(key=f"retry-with-jitter-{key}", fail_times=fails))["attempt"]
            except ToolError as error:
                assert error.code == "tool_failed"
        await asyncio.sleep(0.002 * 2 ** attempt * (1 + rng.random()))
    return None

await asyncio.gather(fetch("a", 0), fetch("b", 3), fetch("c", 9), fetch("d", 1))
