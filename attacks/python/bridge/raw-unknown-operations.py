# attack: calls the import with operations that do not exist
# property: S42
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
for op in [0, 99, 2**32 - 1]:
    raw.call(1, op, "", "{}")
return "held"
