# Search, then call what was found.
hits = await search("list issues of a repository")
names = [hit["name"] for hit in hits]
assert "mcp__github__list_issues" in names, names
hit = next(h for h in hits if h["name"] == "mcp__github__list_issues")
page = await tools[hit["server"]][hit["tool"]](owner="a", repo="b", per_page=1)
print(hit["server"], hit["tool"], sorted(hit["inputSchema"]["properties"]), page["total"])
