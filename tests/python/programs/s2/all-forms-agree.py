# Every way to call one tool gives the same.
import json
from mcp import runtime
from mcp.servers.wiki import get_page

forms = [
    await mcp_wiki.get_page(slug="setup"),
    await mcp_servers["wiki"].get_page(slug="setup"),
    await get_page(slug="setup"),
    await runtime.call_tool("wiki", "get_page", {"slug": "setup"}),
]
texts = {json.dumps(f["structuredContent"], sort_keys=True) for f in forms}
native = await tools.wiki.get_page(slug="setup")
print(len(texts), json.loads(texts.pop()) == native, [sorted(f)[0] for f in forms])
print(json.loads(await call_mcp_tool("mcp__wiki__get_page", {"slug": "setup"})) == native == await call_tool("mcp__wiki__get_page", slug="setup"))
