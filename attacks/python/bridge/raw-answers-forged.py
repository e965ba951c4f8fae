# attack: replaces the imports by its own, which answer calls that the gateway never saw
# property: S54
# timeout_ms: 2000
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
asked = []


def call(id, op, head, body):
    asked.append(id)


def wait(at):
    return [(id, True, '{"times":999}') for id in asked]


kept = raw.call, raw.wait
raw.call, raw.wait = call, wait
try:
    name = "noted"
    getattr(tools.probe, name)({"mark": "x"})
finally:
    raw.call, raw.wait = kept
name = "echo"
return getattr(tools.probe, name)({"a": 1}).text
