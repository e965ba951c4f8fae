# Plain functions call tools in a program that is asynchronous elsewhere.
import asyncio

def open_issues(repo):
    page = tools.github.list_issues(owner="acme", repo=repo)
    return page["total"]

async def main():
    await asyncio.sleep(0)
    return {repo: open_issues(repo) for repo in ("sample", "empty")}

print(await main())
