# A task group with named tasks and their results.
import asyncio

async def main():
    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(fetch(name), name=name) for name in ("home", "setup", "faq")}
    return {name: task.result() for name, task in tasks.items()}

async def fetch(slug):
    page = await tools.wiki.get_page(slug=slug)
    return len(page["html"])

print(asyncio.run(main()))
