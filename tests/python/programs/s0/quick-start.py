# `call_mcp_tool` gives text; the program parses it.
import json

text = await call_mcp_tool("mcp__github__list_issues", {"owner": "acme", "repo": "sample", "per_page": 5})
data = json.loads(text)
print(f"Found {data['total']} issues")
for issue in data["issues"]:
    print(f"  #{issue['number']} {issue['title']}")
