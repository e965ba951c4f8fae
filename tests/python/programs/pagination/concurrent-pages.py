# First page tells how many there are, the rest come at once.
import asyncio
import math

async def page(n):
    return await tools.github.list_issues(owner="acme", repo="sample", state="all", page=n, per_page=6)

first = await page(1)
count = math.ceil(first["total"] / 6)
rest = await asyncio.gather(*[page(n) for n in range(2, count + 1)])
numbers = [issue["number"] for p in (first, *rest) for issue in p["issues"]]
assert numbers == sorted(numbers)
{"pages": count, "issues": len(numbers)}
