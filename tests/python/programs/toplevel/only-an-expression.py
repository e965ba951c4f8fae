# A program of one expression.
sorted(page.upper() for page in tools.wiki.list_pages()["pages"])[0]
