# `globals()`, `vars()`, `global` and `exec` in a program with a top-level `return`.
total = 0

def add(n):
    global total, added
    total += n
    added = True

for page in tools.wiki.list_pages()["pages"]:
    add(len(page))
exec("made = total * 2")
namespace = {}
exec("x = 1\ny = x + 1", namespace)
print(made, namespace["y"], added, globals()["total"] == total, "add" in vars(), __name__, eval("total + 1"))
if total > 5:
    return total
return None
