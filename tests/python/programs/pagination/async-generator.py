# An async generator over all pages, consumed with `async for`.
from typing import AsyncIterator

async def contacts(limit: int = 3) -> AsyncIterator[dict]:
    cursor = None
    while True:
        args = {"limit": limit}
        if cursor is not None:
            args["cursor"] = cursor
        page = await tools.crm.list_contacts(args)
        for contact in page["contacts"]:
            yield contact
        cursor = page["next_cursor"]
        if cursor is None:
            return

seen = 0
vips = []
async for contact in contacts():
    seen += 1
    if "vip" in contact["tags"]:
        vips.append(contact["name"])
print(seen, vips)
first_two = [c["id"] async for c in contacts(limit=2) if c["id"] % 2]
first_two
