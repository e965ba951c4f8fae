# attack: frees structures nested a million deep, each level by the destructor of the one around it
# property: S24
# timeout_ms: 5000
# expect: contained
class Node:
    __slots__ = ["next"]


first = None
for _ in range(300_000):
    node = Node()
    node.next = first
    first = node
nested = ()
for _ in range(300_000):
    nested = (nested, [], {})
generators = None
for _ in range(50_000):
    generators = (lambda inner: (x for x in [inner]))(generators)
    next(generators)
del first, node, nested, generators
return "held"
