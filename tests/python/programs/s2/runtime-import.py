# `from mcp import runtime` and `import mcp.runtime as runtime` are one module.
from mcp import runtime
import mcp.runtime as again

print(runtime is again, sorted(runtime.list_servers_sync())[:3], isinstance(runtime.discovered_servers(), tuple))
result = await runtime.call_tool("github", "get_issue", {"owner": "a", "repo": "b", "number": 4})
print(result["structuredContent"]["title"], result["content"][0]["type"])
