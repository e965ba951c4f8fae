# Stops at the first match and says how many pages that took.
def find_commit(prefix):
    after, pages = None, 0
    while True:
        pages += 1
        page = tools.github.list_commits(owner="a", repo="b", after=after) if after else tools.github.list_commits(owner="a", repo="b")
        for commit in page["commits"]:
            if commit["message"].startswith(prefix):
                return commit, pages
        else:
            after = page["last"]
            if after is None:
                return None, pages

print(find_commit("fix(ui)"))
print(find_commit("refactor!"))
print(find_commit("perf"))
print(find_commit("nothing like it"))
