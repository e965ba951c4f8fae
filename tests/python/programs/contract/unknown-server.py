# The same for a server.
# message: any
print("before")
issues = tools.gitub.list_issues(owner="a", repo="b")
print(issues)
