# attack: prints by the import to streams that do not exist, with line ends and megabytes
# property: S25
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
raw.log(0, "a\nb\r\n\0")
raw.log(1, "x" * (20 << 20))
raw.log(7, "forged")
return "held"
