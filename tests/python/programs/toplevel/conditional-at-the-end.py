# An `if` at the end is no expression: no value, unless it returns.
pages = tools.wiki.list_pages()["pages"]
if len(pages) > 3:
    f"{len(pages)} pages"
else:
    "few"
