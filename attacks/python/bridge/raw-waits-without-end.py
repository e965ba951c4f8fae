# attack: waits for times long gone, by the import, without end
# property: S35
# timeout_ms: 1000
# expect: error timeout
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
while True:
    raw.wait(0)
