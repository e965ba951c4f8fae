# Lines stay right in a program that is put into a function.
import asyncio

async def fetch(n):
    if n == 2:
        raise ValueError("n is two")
    return n

results = []
for n in range(5):
    if n > 4:
        return results
    results.append(await fetch(n))
