# attack: a thousand calls at once, some failing and some refused, to be given an answer that belongs to another
# property: S54
# timeout_ms: 15000
# expect: value [1000, 0]
import asyncio

right = wrong = 0


async def one(i):
    global right, wrong
    name = ["echo", "fail", f"none{i}"][i % 3]
    try:
        text = (await tools.probe[name]({"i": i, "message": f"m{i}"})).text
        good = name == "echo" and f'"i":{i},' in text
    except ToolError as error:
        good = name != "echo" and (f"m{i}" if i % 3 == 1 else f"none{i}") in error.message
    right += good
    wrong += not good


await asyncio.gather(*(one(i) for i in range(1000)))
return [right, wrong]
