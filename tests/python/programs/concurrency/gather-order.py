# `gather` gives results in the order of its arguments, whatever finishes first.
import asyncio

values = await asyncio.gather(
    tools.flaky.wait(ms=60, value="slow"),
    tools.flaky.wait(ms=5, value="fast"),
    tools.flaky.wait(ms=30, value="middle"),
)
[v["value"] for v in values]
