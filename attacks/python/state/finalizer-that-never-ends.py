# attack: ends while an exit handler, a finalizer and a generator refuse to
# property: S21
# timeout_ms: 1000
# expect: contained
import atexit


def spin(*args):
    while True:
        pass


class Spin:
    __del__ = spin


def generator():
    try:
        yield
    finally:
        spin()


kept = generator()
next(kept)
spinning = Spin()
atexit.register(spin)
return "held"
