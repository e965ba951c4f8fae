# What is known only at run time is checked at run time.
arguments = {"slug": "home"}
arguments.update({})
print(tools.wiki.get_page(**arguments)["title"], tools.wiki.get_page(arguments)["slug"])
