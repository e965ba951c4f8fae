# Without `return` the last expression is the value.
pages = tools.wiki.list_pages()["pages"]
lengths = {page: len(page) for page in pages}
print("computed")
lengths
