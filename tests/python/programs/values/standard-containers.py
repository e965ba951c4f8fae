# deque, Counter, defaultdict, ranges, views, iterators and generators.
from collections import Counter, OrderedDict, defaultdict, deque
from types import MappingProxyType, SimpleNamespace

groups = defaultdict(list)
groups["a"].append(1)
numbers = {"x": 1, "y": 2}
return {
    "deque": deque([1, 2], maxlen=5), "counter": Counter("abca"), "default": groups, "ordered": OrderedDict(b=1, a=2), "range": range(2, 8, 3),
    "keys": numbers.keys(), "values": numbers.values(), "items": numbers.items(), "map": map(str, [1, 2]), "generator": (n * n for n in range(3)),
    "proxy": MappingProxyType({"k": "v"}), "namespace": SimpleNamespace(a=1, b=[2]), "zip": zip("ab", [1, 2]), "reversed": reversed([1, 2]),
}
