# NamedTuple, both ways, with methods and `_replace`.
from collections import namedtuple
from typing import NamedTuple

class Event(NamedTuple):
    title: str
    people: int = 0

    def label(self) -> str:
        return f"{self.title} ({self.people})"

events = [Event(e["title"], len(e["attendees"])) for e in tools.calendar.list_events(start="2026-03-01", end="2026-03-31")["events"]]
print(max(events, key=lambda e: e.people).label())
title, people = events[0]
print(title, people, events[0]._asdict(), Event._fields, Event("x") == ("x", 0))
Pair = namedtuple("Pair", "left right", defaults=["?"])
print(Pair(1), Pair(1, 2)._replace(left=9))
