# control: code objects with other bytecode than the compiler's run, so the broken ones below are run as well
# property: S16
# expect: value [41, 42]
def f():
    return 41


def g():
    return 42


before = f()
f.__code__ = f.__code__.replace(co_consts=g.__code__.co_consts, co_code=g.__code__.co_code)
return [before, f()]
