# A longer program in this style.
import asyncio
from mcp import runtime
from mcp.servers.github import get_issue, list_issues

async def main():
    servers = [s for s in runtime.discovered_servers() if s in ("github", "slack")]
    page = await list_issues(owner="acme", repo="sample", state="closed", per_page=3)
    details = await asyncio.gather(*(get_issue(owner="acme", repo="sample", number=i["number"]) for i in page["issues"]))
    lines = [f"#{d['number']} {d['title']} by {d['user']['login']}" for d in details]
    posted = await mcp_slack.post_message(channel="#releases", text="\n".join(lines))
    print(servers, posted["ok"], posted["length"])
    print(*lines, sep="\n")

await main()
