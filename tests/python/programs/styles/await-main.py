# `await main()` at the top level.
async def main():
    event = (await tools.calendar.list_events(start="2026-03-31", end="2026-04-30"))["events"][0]
    return event["title"]

title = await main()
print(title)
