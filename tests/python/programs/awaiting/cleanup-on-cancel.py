# `finally` blocks of cancelled tasks may call tools.
import asyncio

log = []

async def job():
    try:
        await asyncio.sleep(30)
    finally:
        r = await tools.shapes.echo(value="released")
        log.append(r["value"])

task = asyncio.create_task(job())
await asyncio.sleep(0.01)
task.cancel("stop")
try:
    await task
except asyncio.CancelledError as error:
    log.append(f"cancelled: {error}")
print(log, task.cancelled())
