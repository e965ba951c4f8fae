# A value awaited once and used twice; a task awaited twice.
import asyncio

task = asyncio.create_task(tools.wiki.get_page(slug="home"))
a, b = await task, await task
print(a["title"], a is b)
page = await tools.wiki.get_page(slug="faq")
print(page["title"], page["slug"])
