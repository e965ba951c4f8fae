# attack: recurses without end through functions of the interpreter that call back
# property: S24
# timeout_ms: 5000
# expect: contained
import copy
import functools
import json
import operator
import pickle
import re
import sys


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")

    def __eq__(self, other):
        return self == other

    def __hash__(self):
        return hash(self)

    def __call__(self):
        return self()

    def __repr__(self):
        return repr(self)

    def __str__(self):
        return f"{self}"

    def __add__(self, other):
        return self + other

    def __len__(self):
        return len(self)

    def __iter__(self):
        return iter(self)

    def __instancecheck__(self, other):
        return isinstance(other, self)

    def __missing__(self, key):
        return self[key]

    __getitem__ = __missing__

    def __reduce__(self):
        return copy.copy(self).__reduce__()


sys.setrecursionlimit(10**9)
deep = Deep()
nested = []
for _ in range(50_000):
    nested = [nested]
partial = abs
for _ in range(50_000):
    partial = functools.partial(partial)
link = lambda: sorted([1], key=lambda _: link())
for act in [
    lambda: deep == 1, lambda: hash(deep), lambda: deep(), lambda: repr(deep), lambda: str(deep), lambda: deep + 1, lambda: len(deep),
    lambda: iter(deep), lambda: isinstance(1, deep), lambda: deep[1], lambda: copy.copy(deep), lambda: repr(nested), lambda: nested == copy.copy(nested),
    lambda: json.dumps(nested), lambda: pickle.dumps(nested), lambda: copy.deepcopy(nested), lambda: partial(-1), link,
    lambda: json.loads("[" * 200_000), lambda: re.compile("(" * 5_000 + ")" * 5_000), lambda: operator.eq(nested, [nested]),
    lambda: eval("(" * 5_000), lambda: int.__add__(1, deep), lambda: max(deep), lambda: deep.attribute,
]:
    try:
        act()
    except (RecursionError, MemoryError, SyntaxError, re.error, TypeError, AttributeError, OverflowError):
        pass
return "held"
