# A text is a value as it is.
"\n".join(f"- {p}" for p in tools.wiki.list_pages()["pages"])
