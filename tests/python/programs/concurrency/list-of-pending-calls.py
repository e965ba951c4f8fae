# Calls collected in a list first and gathered later.
import asyncio

pending = [tools.github.get_issue(owner="a", repo="b", number=n) for n in (3, 5, 8)]
pending.append(tools.github.get_issue(owner="a", repo="b", number=13))
issues = await asyncio.gather(*pending)
{issue["number"]: issue["state"] for issue in issues}
