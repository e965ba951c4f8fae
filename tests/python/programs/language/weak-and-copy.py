# copy, weakref, id, garbage, sentinels and default dictionaries of defaults.
import copy
import gc
import weakref

class Node:
    def __init__(self, name): self.name = name

node = Node("a")
ref = weakref.ref(node)
cache = weakref.WeakValueDictionary(a=node)
print(ref().name, len(cache))
del node
gc.collect()
print(ref(), len(cache))
MISSING = object()
record = tools.crm.get_contact(id=11)
print(record.get("phone", MISSING) is MISSING, record.get("last_seen", MISSING) is None)
nested = {"a": [1, {"b": 2}]}
shallow, deep = copy.copy(nested), copy.deepcopy(nested)
nested["a"][1]["b"] = 3
print(shallow["a"][1]["b"], deep["a"][1]["b"], copy.copy(record) == record, type(copy.copy(nested)) is dict)
finalized = []
weakref.finalize(Node("b"), finalized.append, "gone")
gc.collect()
print(finalized)
