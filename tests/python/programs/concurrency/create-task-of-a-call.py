# A call made a task of directly, more work meanwhile.
import asyncio

task = asyncio.create_task(tools.flaky.wait(ms=250, value="later"))
page = await tools.wiki.list_pages()
print(task.done(), len(page["pages"]))
print((await task)["value"], task.done())
