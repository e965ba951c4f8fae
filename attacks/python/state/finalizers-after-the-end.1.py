# attack: leaves finalizers, callbacks of weak references and exit handlers that call a tool after the program's end
# property: S33
# timeout_ms: 3000
# expect: contained
import atexit
import sys
import weakref

keep = {}


class Late:
    def __del__(self):
        tools.probe.note(mark="python after the end")

    __repr__ = lambda self: "late"


def late(*args):
    tools.probe.note(mark="python after the end")


keep["late"] = Late()
keep["finalizer"] = weakref.finalize(keep["late"], late)
keep["reference"] = weakref.ref(keep["late"], late)
atexit.register(late)
sys.modules["late"] = keep["late"]
return "left"
