# attack: makes calls by the import without ever waiting
# property: S27
# timeout_ms: 10000
# expect: contained
# without: uncounted
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
for id in range(1, 20_001):
    raw.call(id, 4, "", "{}")
return "uncounted"
