# The older forms are checked as well.
# message: any
text = await call_mcp_tool("mcp__wiki__get_pages", {"slug": "home"})
print(text)
