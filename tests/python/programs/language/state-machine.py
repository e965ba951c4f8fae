# A small state machine driven by events of a database.
from enum import Enum, auto

class State(Enum):
    OUT = auto()
    IN = auto()
    BUYING = auto()

TRANSITIONS = {(State.OUT, "login"): State.IN, (State.IN, "purchase"): State.BUYING, (State.BUYING, "view"): State.IN,
               (State.IN, "view"): State.IN, (State.IN, "logout"): State.OUT, (State.BUYING, "logout"): State.OUT}
state, visits, refused = State.OUT, {s: 0 for s in State}, []
for number, kind in tools.database.query(sql="select id, kind from events order by id")["rows"]:
    following = TRANSITIONS.get((state, kind))
    if following is None:
        refused.append(number)
        continue
    state = following
    visits[state] += 1
print(state, {s.name: n for s, n in visits.items()}, refused[:5], len(refused))
