# Loops made by hand.
import asyncio

async def work(n):
    await asyncio.sleep(0.001)
    return (await tools.shapes.echo(value=n))["value"] * 2

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
try:
    print(loop.run_until_complete(work(4)))
    print(loop.run_until_complete(asyncio.gather(work(1), work(2))))
finally:
    loop.close()
print(loop.is_closed())
