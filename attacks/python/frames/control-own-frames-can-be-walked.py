# control: a program can walk its own frames and change what it finds there, so the walks of the attacks do arrive
# property: S06
# expect: value ["outer", "changed"]
import sys


def inner():
    frame = sys._getframe(1)
    frame.f_locals["mine"] = "changed"
    return frame.f_code.co_name


def outer():
    mine = "own"
    return [inner(), mine]


return outer()
