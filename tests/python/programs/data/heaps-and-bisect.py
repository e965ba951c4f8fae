# A priority queue, the n largest, merging, and binary search in thresholds.
import heapq
from bisect import bisect, bisect_left, insort
from dataclasses import dataclass, field

@dataclass(order=True)
class Job:
    due: int
    subject: str = field(compare=False)

import json
heap = []
for ticket in json.loads(tools.tickets.search_tickets(status="open", max_results=20))["issues"]:
    heapq.heappush(heap, Job(ticket["sla_hours"], ticket["subject"]))
print([heapq.heappop(heap).due for _ in range(6)])
rows = tools.shapes.rows(count=50)["rows"]
print([r["id"] for r in heapq.nlargest(3, rows, key=lambda r: r["score"])], list(heapq.merge([1, 4], [2, 3])))
grades = "FDCBA"
print([grades[bisect([60, 70, 80, 90], s)] for s in (33, 99, 77, 70, 89, 90)])
ids = [2, 4, 6]; insort(ids, 5)
print(ids, bisect_left(ids, 4), heapq.nsmallest(2, "hello"))
