# Calls in comprehensions, awaited inside, and not.
slugs = (await tools.wiki.list_pages())["pages"]
a = [(await tools.wiki.get_page(slug=s))["title"] for s in slugs]
b = [tools.wiki.get_page(slug=s)["title"] for s in slugs]
c = {s: len((await tools.wiki.get_page(slug=s))["html"]) for s in slugs}
print(a == b, c)
