# None and empty containers inside a value; an empty text as the value.
import asyncio

async def nothing():
    return None

[None, await nothing(), {}, [], ""]
