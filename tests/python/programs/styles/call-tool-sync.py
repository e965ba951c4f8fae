# `call_tool` without await.
issue = call_tool("mcp__github__get_issue", {"owner": "a", "repo": "b"}, number=3)
print(issue["state"], issue.number)
try:
    call_tool("mcp__flaky__fail", message="as asked")
except ToolError as error:
    print(error.code, error)
