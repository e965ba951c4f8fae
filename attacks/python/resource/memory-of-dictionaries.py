# attack: fills dictionaries, sets and objects without end
# property: S23
# timeout_ms: 10000
# expect: error memory_limit
import collections


class Node:
    pass


kept = collections.defaultdict(set)
n = 0
while True:
    node = Node()
    node.__dict__.update({f"k{i}": [n] * 100 for i in range(20)})
    kept[n].add(node)
    n += 1
