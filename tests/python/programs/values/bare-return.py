# `return` without a value gives none.
print("before")
if tools.wiki.list_pages()["pages"]:
    return
print("after")
