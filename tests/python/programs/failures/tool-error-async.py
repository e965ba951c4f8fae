# The same under `await`, in a nested function.
import asyncio

async def load(number):
    return await tools.github.get_issue(owner="a", repo="b", number=number)

async def main():
    first = await load(1)
    print(first["number"])
    second = await load(555)
    print(second)

await main()
