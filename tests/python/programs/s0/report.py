# A longer program: chat, tickets and a file, all by full name.
import asyncio
import json
from collections import Counter

async def fetch(name, **params):
    return json.loads(await call_mcp_tool(name, params))

async def main():
    tickets, history, users = await asyncio.gather(
        fetch("mcp__tickets__search_tickets", status="pending", max_results=20),
        fetch("mcp__slack__get_channel_history", channel="#incidents"),
        fetch("mcp__slack__list_users"),
    )
    names = {u["id"]: u["name"] for u in users["members"]}
    talkers = Counter(names[m["user"]] for m in history["messages"])
    report = {"pending": tickets["total"], "talkers": talkers.most_common(2), "priorities": dict(Counter(t["priority"] for t in tickets["issues"]))}
    saved = await call_mcp_tool("mcp__filesystem__write_file", {"path": "/data/s0-report.json", "content": json.dumps(report)})
    print(saved)
    again = await call_mcp_tool("mcp__filesystem__read_file", {"path": "/data/s0-report.json"})
    print(json.loads(again) == json.loads(json.dumps(report)))
    return report

print(asyncio.run(main()))
