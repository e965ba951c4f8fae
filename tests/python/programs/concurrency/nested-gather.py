# Gathers inside gathers, with a dictionary kept in order.
import asyncio

async def summary(repo):
    issues, commits = await asyncio.gather(
        tools.github.list_issues(owner="acme", repo=repo, per_page=2),
        tools.github.list_commits(owner="acme", repo=repo),
    )
    authors = await asyncio.gather(*[asyncio.to_thread(str.title, c["author"]) for c in commits["commits"]])
    return repo, {"open": issues["total"], "authors": sorted(set(authors))}

dict(await asyncio.gather(*(summary(r) for r in ("sample", "empty"))))
