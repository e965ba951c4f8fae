# Ten waits of 100 ms take far less than a second.
import asyncio
import time

started = time.monotonic()
results = await asyncio.gather(*[tools.flaky.wait(ms=100, value=i) for i in range(10)])
took = time.monotonic() - started
print(sum(r["value"] for r in results), 0.09 < took < 0.8)
