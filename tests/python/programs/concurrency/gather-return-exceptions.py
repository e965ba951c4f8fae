# Failures as values.
import asyncio

results = await asyncio.gather(
    tools.github.get_issue(owner="a", repo="b", number=1),
    tools.github.get_issue(owner="a", repo="b", number=999),
    tools.flaky.fail(message="boom"),
    return_exceptions=True,
)
for r in results:
    if isinstance(r, Exception):
        print("failed:", type(r).__name__, r)
    else:
        print("ok:", r["title"])
