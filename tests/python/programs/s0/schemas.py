# Schemas by full name, and none for an unknown tool.
schema = await get_tool_schema("mcp__github__create_issue")
print(schema["name"], sorted(schema["parameters"]["properties"]), schema["description"])
print(await get_tool_schema("mcp__github__" + "nothing"))
