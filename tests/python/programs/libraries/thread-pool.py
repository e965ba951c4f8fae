# A thread pool over calls, as programs without asyncio have it.
from concurrent.futures import ThreadPoolExecutor, as_completed

def fetch(slug):
    return tools.wiki.get_page(slug=slug)["title"]

with ThreadPoolExecutor(max_workers=4) as pool:
    print(list(pool.map(fetch, ["home", "setup", "faq"])))
    futures = {pool.submit(fetch, slug): slug for slug in ("home", "orphan", "nope" + "-page")}
    outcomes = {}
    for future in as_completed(futures):
        try:
            outcomes[futures[future]] = future.result()
        except ToolError as error:
            outcomes[futures[future]] = f"failed: {error}"
print(dict(sorted(outcomes.items())))
