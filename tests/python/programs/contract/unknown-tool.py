# A tool that does not exist, by a name that stands in the program: nothing runs.
# message: any
print("before")
pages = tools.wiki.list_pagez()
print(pages)
