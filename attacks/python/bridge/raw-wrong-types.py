# attack: calls the imports with arguments of other types, sizes and counts
# property: S34
# timeout_ms: 2000
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
class Odd(str):
    def encode(self, *args):
        return b"\xff"


tries = [(1, 1, 1, 1), ("1", "1", "", ""), (2**64, -1, "", ""), (1,), (), (None, None, None, None), (1, 1, Odd("{}"), Odd("{}")), (1, 1, "\ud800", "\udfff")]
for arguments in tries:
    for f in [raw.call, raw.log, raw.wait]:
        try:
            f(*arguments)
        except BaseException:
            pass
return "held"
