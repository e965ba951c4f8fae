# Lists of tools: the server's own, and the cached ones with aliases.
raw = await runtime.list_tools("weather")
print([t["name"] for t in raw], "inputSchema" in raw[0])
cached = runtime.list_tools_sync("legacy-api")
print([(t["name"], t["alias"]) for t in cached], sorted(cached[0]))
own = await mcp_weather.list_tools()
print(len(own))
described = runtime.describe_server("weather")
print(described["name"], described["alias"], len(described["tools"]), len(runtime.list_loaded_server_metadata()))
