# `runtime` needs no import.
import json

result = await runtime.call_tool("tickets", "search_tickets", {"status": "solved", "max_results": 2})
data = json.loads(result["content"][0]["text"])
print(data["total"], [t["id"] for t in data["issues"]])
print("github" in await runtime.list_servers(), len(await runtime.list_servers()))
