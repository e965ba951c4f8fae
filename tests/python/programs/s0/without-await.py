# The form its tool description shows: no await at all.
import json

content = call_mcp_tool("mcp__filesystem__read_file", {"path": "/data/config.json"})
config = json.loads(content)
print(config["retries"], content[:1], len(content) == len(json.dumps(config, indent=2)))
print(call_mcp_tool("mcp__shapes__plain_text").splitlines())
