# Describes a tool and a server.
tool = await describe("github", "create_issue")
print(tool["name"], tool["inputSchema"]["required"], tool["parameters"]["properties"]["labels"], "outputSchema" in tool)
server = await describe("wiki")
print(server["server"], [t["tool"] for t in server["tools"]])
try:
    await describe("wiki", "no_such" + "_tool")
except ToolError as error:
    print(error.code)
