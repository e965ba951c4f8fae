# Sort keys: several at once, stable passes, None last, natural order, custom ranks.
import re
from operator import attrgetter, itemgetter

repos = tools.github.list_repos(owner="acme").repos
print([r.name for r in sorted(repos, key=lambda r: (r.archived, -r.stars))])
print([r.name for r in sorted(repos, key=lambda r: (r.language is None, r.language or "", r.name))])
natural = lambda s: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", s)]
print(sorted(["v1.10", "v1.9", "v1.2"], key=natural), sorted("bAaB", key=str.swapcase))
rank = {name: n for n, name in enumerate(["urgent", "high", "normal", "low"])}
tickets = [tools.tickets.get_ticket(id=n) for n in range(1, 9)]
tickets.sort(key=itemgetter("id"), reverse=True)
tickets.sort(key=lambda t: rank[t["priority"]])
print([(t["id"], t["priority"]) for t in tickets])
print(sorted([3, 1, 2], reverse=True), max(repos, key=attrgetter("stars")).name, min([], default="none"))
