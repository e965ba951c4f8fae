# control: a program that uses much of everything, and not too much, ends with its value
# property: S23
# timeout_ms: 10000
# expect: value [1000000, 5000000, 200, 1000, 300]
import asyncio

numbers = [1] * 1_000_000
text = "x" * 5_000_000


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


ticks = 0
for _ in range(1000):
    await asyncio.sleep(0)
    ticks += 1
answers = await asyncio.gather(*(tools.probe.echo(i=i) for i in range(300)))
return [len(numbers), len(text), depth(200), ticks, len(answers)]
