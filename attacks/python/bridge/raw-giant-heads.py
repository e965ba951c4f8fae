# attack: calls the import with a target of megabytes
# property: S28
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
raw.call(1, 1, '{"server":"probe","tool":"' + "x" * (5 << 20) + '"}', "{}")
return "held"
