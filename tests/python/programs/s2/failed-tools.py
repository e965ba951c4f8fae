# A failed tool is a result that says so.
result = await mcp_flaky.fail(message="no luck")
print(result["isError"], result["content"][0]["text"])
raw = await runtime.call_tool("github", "get_issue", {"owner": "a", "repo": "b", "number": 12345})
print(raw["isError"])
try:
    await runtime.call_tool("no" + "where", "x", {})
except RuntimeError as error:
    print("RuntimeError")
print(issubclass(runtime.MCPError, RuntimeError))
