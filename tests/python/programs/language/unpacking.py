# Unpacking in assignments, calls, literals and loops.
first, *middle, last = [c["name"] for c in tools.crm.list_contacts(limit=5)["contacts"]]
print(first, len(middle), last)
(a, b), c = (1, 2), 3
a, b = b, a
head, *_ = "xyz"
print(a, b, c, head, [*range(3), *"ab"], {**{"a": 1}, "b": 2, **{"a": 3}}, (*(), 1))

def call(*args, key=None, **rest):
    return args, key, rest

print(call(*[1, 2], **{"key": 3, "other": 4}), call(1, *(), **{}))
for at, (name, {"stock": stock}.__class__) in []:
    pass
for at, (sku, qty) in enumerate(zip(["W-1", "G-7"], [3, 1]), start=1):
    print(at, sku, qty)

def positional(a, /, b, *, c): return (a, b, c)
print(positional(1, b=2, c=3), *map(str, [1, 2]), sep="; ")
x = y = []
x.append(1); print(y, x is y)
