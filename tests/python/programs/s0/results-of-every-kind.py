# The first text of a result, or the whole result when there is none.
print(repr(await call_mcp_tool("mcp__shapes__number_text", {})))
print(repr(await call_mcp_tool("mcp__shapes__many_texts", {})))
nothing = await call_mcp_tool("mcp__shapes__nothing", {})
print(nothing["content"])
print(await call_mcp_tool("mcp__shapes__picture", {}))
