# attack: waits by the import until the first and the last moment there is
# property: S26
# timeout_ms: 1500
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
for at in [-(2**63), -2, 1, 2**63 - 1]:
    raw.wait(at)
return "held"
