# attack: replaces every built-in function right before it returns
# property: S34
# expect: contained
import builtins


def forge(*args, **kwargs):
    raise RuntimeError("forged")


builtins.polluted = True
for name in list(vars(builtins)):
    if not name.startswith("__"):
        setattr(builtins, name, forge)
return {"a": [1, 2, 3]}
