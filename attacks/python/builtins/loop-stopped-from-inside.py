# attack: stops and closes the loop it runs in, and cancels the task that it is
# property: S34
# expect: contained
import asyncio

loop = asyncio.get_running_loop()
loop.call_soon(loop.stop)
await asyncio.sleep(0.01)
for task in asyncio.all_tasks():
    task.cancel()
loop._ready.clear()
try:
    loop.close()
except RuntimeError:
    pass
try:
    await asyncio.sleep(0.01)
finally:
    loop.stop()
