"""A program that begins with a text about itself."""
# A documentation text is not the value.
from __future__ import annotations

count: int = len(tools.wiki.list_pages()["pages"])
print(__doc__, count, __annotations__ == {} or True)
