# An uncaught error of the program's own, with the line it came from.
def check(total):
    if total > 10:
        raise ValueError(f"{total} open issues are too many")

print("checking")
check(tools.github.list_issues(owner="a", repo="b")["total"])
