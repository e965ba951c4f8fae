# Proxies gathered and raced.
import asyncio

started = asyncio.get_running_loop().time()
slow = await asyncio.gather(*[mcp_flaky.wait(ms=100, value=n) for n in range(6)])
took = asyncio.get_running_loop().time() - started
print([r["value"] for r in slow], took < 0.5)
async with asyncio.timeout(2):
    r = await mcp_shapes.echo(value={"nested": [1]})
print(r["structuredContent"])
