# attack: calls the import with targets that are not JSON, have other fields and are of other types
# property: S42
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
heads = ["", "null", "[]", "{", '{"tool":1}', '{"tool":"echo","server":"probe","extra":1}', '{"tool":"echo","server":"probe","form":"forged"}', "\0", "\ufeff{}"]
for id, head in enumerate(heads, 1):
    raw.call(id, 1, head, "{}")
    raw.wait(-1)
return "held"
