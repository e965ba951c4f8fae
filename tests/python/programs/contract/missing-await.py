# Calls without `await` in a coroutine function, where Python itself would not wait.
# message: any
async def main():
    names = []
    for page in tools.wiki.list_pages()["pages"]:
        names.append(page)
    if tools.weather.get_current(city="Oslo"):
        names.append(f"now: {tools.weather.get_current(city='Oslo')}")
    return names

print(await main())
