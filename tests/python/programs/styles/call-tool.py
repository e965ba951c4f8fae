# `call_tool` and `acall_tool` by full name.
a = await call_tool("mcp__github__get_issue", {"owner": "a", "repo": "b", "number": 1})
b = await acall_tool("mcp__github__get_issue", owner="a", repo="b", number=2)
import asyncio
c, d = await asyncio.gather(acall_tool("mcp__time-series__list-metrics"), acall_tool("mcp__wiki__list_pages", {}))
[a["number"], b["number"], len(c["metrics"]), len(d["pages"])]
