# A program that prints has said what it wanted to say: `result` is not the value then.
result = tools.github.list_issues(owner="a", repo="b")["total"]
print("open issues:", result)
