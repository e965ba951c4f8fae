# A proxy for each server; the result is the whole result.
result = await mcp_github.list_issues(owner="acme", repo="sample", per_page=2)
print(sorted(result)[:1], result["content"][0]["type"], len(result["structuredContent"]["issues"]))
print(result.total, [i["number"] for i in result["issues"]])
