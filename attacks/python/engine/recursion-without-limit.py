# attack: lifts the limit of recursion and recurses without end
# property: S24
# timeout_ms: 10000
# expect: error stack_limit|memory_limit|exception
import sys

sys.setrecursionlimit(2**31 - 1)


def deeper(n):
    return deeper(n + 1) + 1


deeper(0)
