# An uncaught failure of a tool.
print("before")
issue = tools.github.get_issue(owner="a", repo="b", number=777)
print("after", issue)
