# The same with a plain generator and `itertools.islice`.
from itertools import islice

def commits():
    after = {}
    while True:
        page = tools.github.list_commits(owner="acme", repo="sample", **after)
        yield from page["commits"]
        if page["last"] is None:
            return
        after = {"after": page["last"]}

for commit in islice(commits(), 7):
    print(commit["sha"], commit["message"])
print("all:", sum(1 for _ in commits()))
