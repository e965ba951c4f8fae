# Without `return_exceptions` the first failure comes out, the others go on.
import asyncio

done = []

async def work(ms, fail=False):
    if fail:
        await tools.flaky.wait_and_fail(ms=ms, message=f"failed after {ms}")
    await tools.flaky.wait(ms=ms)
    done.append(ms)

try:
    await asyncio.gather(work(20), work(120, fail=True), work(240))
except ToolError as error:
    print("caught", error, done)
await asyncio.sleep(0.3)
print(done)
