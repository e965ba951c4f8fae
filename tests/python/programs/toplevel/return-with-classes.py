# Dataclasses, enums, named tuples, pickles and type hints in a program with a top-level `return`.
from __future__ import annotations

import copy
import pickle
import typing
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Optional

class Kind(Enum):
    A = "a"

@dataclass
class Node:
    name: str
    kind: Kind = Kind.A
    parent: Optional[Node] = None
    children: list[Node] = field(default_factory=list)

    def add(self, name: str) -> Node:
        child = Node(name, parent=self)
        self.children.append(child)
        return child

class Pair(NamedTuple):
    left: Node
    right: int

root = Node("root")
leaf = root.add("a").add("b")
again = pickle.loads(pickle.dumps(Pair(leaf, 2)))
assert again.left.parent.parent.name == "root" and copy.deepcopy(root).children[0].parent is not root
assert typing.get_type_hints(Node)["parent"] == Optional[Node]
return [Node.__qualname__, Node.add.__qualname__, Node.__module__, repr(Kind.A), again.right, isinstance(leaf, Node)]
