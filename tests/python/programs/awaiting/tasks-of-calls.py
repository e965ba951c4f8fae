# `create_task`, `ensure_future` and `wait` directly on calls.
import asyncio

async def main():
    loop = asyncio.get_running_loop()
    tasks = [asyncio.ensure_future(tools.shapes.echo(value=1)), loop.create_task(tools.shapes.echo(value=2)), asyncio.create_task(tools.shapes.echo(value=3))]
    done, pending = await asyncio.wait(tasks)
    print(sorted(t.result()["value"] for t in done), len(pending))
    async with asyncio.TaskGroup() as group:
        more = [group.create_task(tools.shapes.echo(value=n)) for n in range(3)]
    print([t.result()["value"] for t in more])
    print((await asyncio.wait_for(tools.shapes.echo(value="w"), 5))["value"])

asyncio.run(main())
