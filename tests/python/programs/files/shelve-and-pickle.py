# Pickle of the program's own objects, in memory.
import copy
import pickle
from dataclasses import dataclass, field

@dataclass
class Node:
    name: str
    children: list = field(default_factory=list)

tree = tools.shapes.nested()["tree"]
build = lambda t: Node(t["name"], [build(c) for c in t.get("children", [])])
node = build(tree)
again = pickle.loads(pickle.dumps(node))
print(again == node, again is node, again.children[0].children[1].name)
shallow, deep = copy.copy(node), copy.deepcopy(node)
node.children[0].name = "changed"
print(shallow.children[0].name, deep.children[0].name)
record = copy.deepcopy(tree); record["name"] = "other"
print(tree["name"], record["name"], pickle.loads(pickle.dumps(dict(tree))) == dict(tree))
