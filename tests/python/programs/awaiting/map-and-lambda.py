# Calls made by `map`, lambdas and partials.
import asyncio
from functools import partial

get = partial(tools.wiki.get_page)
slugs = ["home", "faq"]
pages = await asyncio.gather(*map(lambda s: tools.wiki.get_page(slug=s), slugs))
more = await asyncio.gather(*(get(slug=s) for s in slugs))
one = await partial(tools.github.get_issue, owner="a", repo="b")(number=5)
print([p["title"] for p in pages], pages == more, one["number"])
