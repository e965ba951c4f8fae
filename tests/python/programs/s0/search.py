# `search_tools` and `discover_mcp_tools`.
found = await search_tools("read file", limit=3)
print(len(found) <= 3, "mcp__filesystem__read_file" in [t["name"] for t in found], "parameters" in found[0])
every = await discover_mcp_tools()
some = await discover_mcp_tools(search_terms=["forecast", "slack"])
print(len(every), sorted(t["name"] for t in some)[:2], len(some))
