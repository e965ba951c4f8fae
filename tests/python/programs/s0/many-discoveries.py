# Fifty discoveries in one run.
import asyncio
results = await asyncio.gather(*[get_tool_schema("mcp__wiki__get_page") for _ in range(50)])
print(len(results), {r["name"] for r in results})
