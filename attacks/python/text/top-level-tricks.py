# attack: uses what only modules may and what only functions may in one program
# property: S06
# expect: value ["kept", 3, "yielded", true]
from math import *

global kept
kept = "kept"


def f():
    nonlocal_ = 1

    def g():
        nonlocal nonlocal_
        nonlocal_ += 2
        return nonlocal_

    return g()


def g():
    yield "yielded"


try:
    return [globals()["kept"], f(), next(g()), floor(pi) == 3]
finally:
    del kept
