# `TOOLS` and `TOOL_MAP` of a server's module.
import mcp.servers.legacy_api as legacy

print(sorted(legacy.TOOL_MAP.items()), len(legacy.TOOLS))
result = await legacy.import_(**{"from": "x"})
print(result["imported"])
