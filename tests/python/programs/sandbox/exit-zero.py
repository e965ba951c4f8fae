# `sys.exit()` ends a program in good order.
import sys

print("before")
if tools.wiki.list_pages()["pages"]:
    sys.exit()
print("after")
