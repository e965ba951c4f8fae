# Plain helpers that call tools, used from coroutines and by `sorted`.
import asyncio

def stars(repo):
    return repo["stars"]

def repos():
    return [r for r in tools.github.list_repos(owner="acme")["repos"] if not r["archived"]]

async def title(number):
    issue = await tools.github.get_issue(owner="acme", repo="sample", number=number)
    return issue["title"]

async def main():
    ordered = sorted(repos(), key=stars, reverse=True)
    titles = await asyncio.gather(*(title(n) for n in (1, 2)))
    return [r["name"] for r in ordered], titles

asyncio.run(main())
