# attack: replaces the event loop, its policy and its tasks by ones that settle calls with answers of their own
# property: S54
# expect: contained
import asyncio

mark = "asyncio replaced"


class Forged(asyncio.Future):
    def __await__(self):
        yield self
        return {"text": "forged"}


asyncio.Future = asyncio.Task = asyncio.futures.Future = asyncio.tasks.Task = Forged
asyncio.get_running_loop = asyncio.get_event_loop = asyncio.new_event_loop = lambda: None
asyncio.events._get_running_loop = lambda: None
loop = None
try:
    await tools.probe.note({"mark": mark})
except BaseException:
    pass
return "held"
