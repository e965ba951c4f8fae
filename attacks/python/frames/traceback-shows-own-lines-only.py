# attack: fails inside of callbacks that the library and the prelude call, for their lines in the printed traceback
# property: S55
# stderr: in hostile
# without: limbeck_guest
# expect: error exception
# message: ZeroDivisionError
import asyncio
import functools


def hostile(*_):
    return 1 / 0


async def inner():
    await asyncio.sleep(0)
    sorted([2, 1], key=functools.cmp_to_key(hostile))


async def main():
    async with asyncio.TaskGroup() as group:
        await asyncio.gather(group.create_task(asyncio.sleep(0)), inner())


try:
    await main()
except* ValueError:
    pass
except* ZeroDivisionError as group:
    raise group.exceptions[0] from group
