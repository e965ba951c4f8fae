# `asyncio.run` in a program that also awaits at the top level.
import asyncio

async def load(slug):
    return (await tools.wiki.get_page(slug=slug))["title"]

first = await load("home")
second = asyncio.run(load("faq"))
third = await load("setup")
[first, second, third]
