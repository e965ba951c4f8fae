# Offsets over a tool that answers in JSON text.
import json
from collections import Counter

start, tickets = 0, []
while True:
    page = json.loads(await tools.tickets.search_tickets(start_at=start, max_results=10))
    tickets.extend(page["issues"])
    start += page["maxResults"]
    if start >= page["total"]:
        break
by_status = Counter(t["status"] for t in tickets)
print(by_status.most_common())
by_priority = Counter(t["priority"] for t in tickets)
dict(sorted(by_priority.items()))
