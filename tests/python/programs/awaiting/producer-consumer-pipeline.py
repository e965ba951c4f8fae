# Async generators chained, with a bounded number of calls under way.
import asyncio

async def numbers(n):
    for i in range(n):
        yield i

async def mapped(source, function, width):
    window = []
    async for item in source:
        window.append(asyncio.create_task(function(item)))
        if len(window) == width:
            yield await window.pop(0)
    for task in window:
        yield await task

async def square(n):
    return (await tools.flaky.wait(ms=5, value=n * n))["value"]

print([v async for v in mapped(numbers(8), square, 3)])
