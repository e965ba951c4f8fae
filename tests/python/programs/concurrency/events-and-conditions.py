# An event, a condition and a lock between tasks.
import asyncio

log = []

async def waiter(name, event):
    await event.wait()
    log.append(f"{name} saw the event")

async def main():
    event, condition, lock = asyncio.Event(), asyncio.Condition(), asyncio.Lock()
    waiters = [asyncio.create_task(waiter(n, event)) for n in "ab"]
    async with lock:
        log.append("locked")
        assert lock.locked()
        await asyncio.sleep(0)
    event.set()
    await asyncio.gather(*waiters)
    items = []

    async def consumer():
        async with condition:
            await condition.wait_for(lambda: len(items) == 2)
            log.append(f"got {items}")

    task = asyncio.create_task(consumer())
    for item in (1, 2):
        await asyncio.sleep(0)
        async with condition:
            items.append(item)
            condition.notify_all()
    await task

asyncio.run(main())
print("\n".join(log))
