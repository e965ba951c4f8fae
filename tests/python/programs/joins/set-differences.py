# Compares two lists with set operations.
repos = tools.github.list_repos(owner="acme")["repos"]
topics = {r["name"]: set(r["topics"]) for r in repos}
licensed = {r["name"] for r in repos if r["license"]}
active = {r["name"] for r in repos if not r["archived"]}

print("active without licence:", sorted(active - licensed))
print("archived or unlicensed:", sorted({r["name"] for r in repos} - (active & licensed)))
print("symmetric:", sorted(active ^ licensed))
print("all topics:", sorted(set().union(*topics.values())))
print("disjoint:", topics["engine"].isdisjoint(topics["sample"]), topics["old-site"] <= topics["engine"])
