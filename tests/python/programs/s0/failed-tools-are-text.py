# A tool's own failure comes back as its text.
text = await call_mcp_tool("mcp__flaky__fail", {"message": "quota exceeded"})
print(repr(text), isinstance(text, str))
missing = await call_mcp_tool("mcp__filesystem__read_file", {"path": "/nope"})
print("ENOENT" in missing)
