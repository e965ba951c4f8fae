# attack: calls the functions of the component's own runtime with forged numbers, handles and types
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
runtime = next((m for m in modules if m.__name__ == "componentize_py_runtime"), None)
if runtime is None:
    return "held"
for name in dir(runtime):
    f = getattr(runtime, name)
    for arguments in [(), (0,), (0, []), (2**31, []), (1, [1]), (2, ["x"]), (0, [1, 2, 3, 4]), (-1, None), (0, 0), (0, 2**31)]:
        try:
            f(*arguments)
        except BaseException:
            pass
return "held"
