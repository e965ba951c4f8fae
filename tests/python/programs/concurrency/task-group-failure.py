# One failing task cancels its siblings; `except*` tells the kinds apart.
import asyncio

cancelled = []

async def patient(name):
    try:
        await asyncio.sleep(5)
    except asyncio.CancelledError:
        cancelled.append(name)
        raise

try:
    async with asyncio.TaskGroup() as group:
        group.create_task(patient("a"))
        group.create_task(patient("b"))
        group.create_task(tools.flaky.wait_and_fail(ms=10, message="no"))
except* ToolError as group:
    print("tool errors:", [str(e) for e in group.exceptions])
except* ValueError:
    print("not reached")
print(sorted(cancelled))
