# attack: calls the export of its own guest, to run a program inside of the program
# property: S49
# timeout_ms: 2000
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
for thing in gc.get_objects():
    if isinstance(thing, type) and "run" in vars(thing) and thing.__module__ in ("app", "wit_world", "limbeck_guest"):
        try:
            thing().run("tools.probe.echo({})", '{"input":null,"servers":[],"limits":{}}')
        except BaseException:
            pass
return "held"
