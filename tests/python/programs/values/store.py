# `store` keeps JSON values.
await store.set("corpus-store", {"seen": [1, 2], "at": "2026-03-01"})
kept = await store.get("corpus-store")
kept["seen"].append(3)
await store.set("corpus-store", kept)
print((await store.get("corpus-store"))["seen"], await store.get("corpus-never-set"))
await store.set("corpus-store", None)
print(await store.get("corpus-store"))
