# Every configured server, with descriptions.
names = runtime.discovered_servers()
detailed = runtime.discovered_servers(detailed=True)
print(sorted(names) == sorted(d["name"] for d in detailed), "time-series" in names, sorted(detailed[0]))
