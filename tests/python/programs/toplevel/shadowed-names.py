# A program may use our names for its own things.
search = "query"
input = {"mine": True}
store = []
store.append(search)
result = len(store)
servers = ["a", "b"]
print(search, input, store, result, servers)
describe = lambda x: f"<{x}>"
describe(servers[0])
