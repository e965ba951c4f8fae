# The text of a JSON object also answers for its keys.
issue = await call_mcp_tool("mcp__github__get_issue", {"owner": "a", "repo": "b", "number": 2})
print(issue["title"], issue["user"]["login"], issue.startswith("{"), isinstance(issue, str))
import json
json.loads(issue)["labels"]
