# Removes duplicates, merges records, keeps the newest.
records = [
    {"id": 1, "email": "A@x.example", "at": "2026-01-02"}, {"id": 2, "email": "b@x.example", "at": "2026-01-01"},
    {"id": 3, "email": "a@x.example ", "at": "2026-02-01", "phone": "1"}, {"id": 4, "email": None, "at": "2026-01-01"},
]
merged = {}
for record in sorted(records, key=lambda r: r["at"]):
    key = (record["email"] or f"#{record['id']}").strip().lower()
    merged[key] = {**merged.get(key, {}), **{k: v for k, v in record.items() if v is not None}}
print(list(dict.fromkeys([3, 1, 3, 2, 1])), len({frozenset(r.items()) for r in records}))
names = [c["company"] for c in tools.crm.list_contacts(limit=9)["contacts"]]
seen = set()
print([n for n in names if not (n in seen or seen.add(n))])
merged
