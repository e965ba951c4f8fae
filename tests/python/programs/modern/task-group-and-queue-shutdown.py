# A queue that is shut down, and `as_completed` with `async for`, of Python 3.13.
# reference: 3.13
import asyncio

async def worker(queue, out):
    try:
        while True:
            n = await queue.get()
            out.append((await tools.shapes.echo(value=n * n))["value"])
    except asyncio.QueueShutDown:
        return len(out)

queue, out = asyncio.Queue(), []
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(worker(queue, out)) for _ in range(2)]
    for n in range(5):
        queue.put_nowait(n)
    queue.shutdown()
print(sorted(out), all(t.done() for t in tasks))
waits = [asyncio.create_task(asyncio.sleep(s, s)) for s in (0.04, 0.001)]
print([t is waits[1] or t is waits[0] for t in [task async for task in asyncio.as_completed(waits)]])
