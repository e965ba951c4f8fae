# Coroutines defined in functions, decorated, recursive.
import asyncio

def with_log(function):
    async def wrapper(*args):
        result = await function(*args)
        log.append((function.__name__, args))
        return result
    return wrapper

log = []

@with_log
async def children(node):
    await asyncio.sleep(0)
    return [c["name"] for c in node.get("children", [])]

async def walk(node, depth=0):
    names = await children(node)
    lines = ["  " * depth + node["name"]]
    for child in node.get("children", []):
        lines += await walk(child, depth + 1)
    return lines

tree = (await tools.shapes.nested())["tree"]
print("\n".join(await walk(tree)))
print(len(log), log[0][0])
