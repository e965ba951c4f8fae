# A variable `result` is the value when nothing was printed.
total = tools.github.list_issues(owner="a", repo="b")["total"]
result = {"open": total}
