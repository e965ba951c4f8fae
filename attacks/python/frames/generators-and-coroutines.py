# attack: climbs from the frames of generators, coroutines and tasks to globals with more than its own has
# property: S06
# tools: ["probe.echo"]
# expect: value []
import asyncio
import sys
import types

reached = []


def generator():
    yield sys._getframe()


async def coroutine():
    return sys._getframe()


async def agenerator():
    yield sys._getframe()


async def frames():
    yield next(generator())
    yield await coroutine()
    async for frame in agenerator():
        yield frame
    task = asyncio.ensure_future(coroutine())
    yield await task
    for task in asyncio.all_tasks():
        for frame in task.get_stack():
            yield frame
        if getattr(task.get_coro(), "cr_frame", None):
            yield task.get_coro().cr_frame
    yield sys._getframe()


path = []
async for frame in frames():
    while frame is not None:
        path.append(frame)
        frame = frame.f_back
seen = set()
for frame in path:
    for scope in (frame.f_globals, frame.f_locals, frame.f_builtins):
        for name, value in list(scope.items()):
            if id(value) in seen or not isinstance(value, types.ModuleType):
                continue
            seen.add(id(value))
            for forbidden in ["system", "fork", "execv", "popen", "CDLL", "fork_exec"]:
                try:
                    getattr(value, forbidden)("id")
                    reached.append(f"{name}.{forbidden}")
                except BaseException:
                    pass
return reached
