# attack: starts tasks, each of which starts more and waits for them
# property: S23
# timeout_ms: 2000
# expect: error memory_limit|timeout
import asyncio


async def more():
    kept = ["x"] * 1_000
    await asyncio.gather(*(asyncio.create_task(more()) for _ in range(10)), return_exceptions=True)
    return kept


await more()
