# A result of several megabytes, filtered in the program.
rows = tools.shapes.rows(count=40_000)["rows"]
best = max(rows, key=lambda r: (r["score"], -r["id"]))
by_group = {}
for row in rows:
    by_group.setdefault(row["group"], []).append(row["score"])
print(len(rows), best, {g: (len(s), round(sum(s) / len(s), 3)) for g, s in sorted(by_group.items())})
