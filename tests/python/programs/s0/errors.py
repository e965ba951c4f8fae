# Calls that never reach a tool raise.
name = "mcp__github__" + "list_isues"
try:
    await call_mcp_tool(name, {})
except Exception as error:
    print("raised", isinstance(error, Exception))
try:
    await call_mcp_tool("mcp__" + "nowhere__x", {})
except Exception as error:
    print("raised again")
