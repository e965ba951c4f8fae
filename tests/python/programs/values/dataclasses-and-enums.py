# Objects of the program's own classes.
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum, IntEnum

class Color(Enum):
    RED = "red"

class Level(IntEnum):
    HIGH = 3

@dataclass
class Owner:
    name: str

@dataclass
class Repo:
    name: str
    owner: Owner
    color: Color = Color.RED
    tags: set = field(default_factory=lambda: {"b", "a"})

class Plain:
    def __init__(self):
        self.visible, self._hidden = [Level.HIGH], "no"

Point = namedtuple("Point", "x y")
return {"repo": Repo("engine", Owner("ada")), "point": Point(1, 2), "plain": Plain(), Color.RED: "key", "points": [Point(3, 4)]}
