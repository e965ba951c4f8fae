# The example of its README: everything in `main`.
import asyncio
import json

async def main():
    tools_found = await discover_mcp_tools(["wiki"])
    print(f"Found {len(tools_found)} tools")
    pages = json.loads(await call_mcp_tool("mcp__wiki__list_pages", {}))
    contents = await asyncio.gather(*[call_mcp_tool("mcp__wiki__get_page", {"slug": slug}) for slug in pages["pages"]])
    for content in contents:
        page = json.loads(content)
        print(page["slug"], page["revision"])

asyncio.run(main())
