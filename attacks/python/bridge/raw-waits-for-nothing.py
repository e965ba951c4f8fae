# attack: waits by the import although nothing can come
# property: S26
# timeout_ms: 2000
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
raw.wait(-1)
raw.wait(-1)
return "held"
