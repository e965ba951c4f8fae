# attack: sorts by comparisons that lie, change the list and never end
# property: S21
# timeout_ms: 1000
# expect: error timeout
import random


class Liar:
    def __lt__(self, other):
        items.append(1) if len(items) < 10 else items.clear()
        return random.random() < 0.5


class Endless:
    def __lt__(self, other):
        while True:
            pass


items = [Liar() for _ in range(10_000)]
try:
    items.sort()
except (ValueError, TypeError):
    pass
sorted([Endless(), Endless()])
