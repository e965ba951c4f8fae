# Calls inside functions are checked before the first line runs, wherever they stand.
# message: any
def later(slug):
    return tools.wiki.get_page(slug=slug, format="markdown")

print("first line")
print(later("home"))
