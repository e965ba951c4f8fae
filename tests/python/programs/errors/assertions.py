# Assertions with messages.
page = tools.github.list_issues(owner="a", repo="b", per_page=5)
assert len(page["issues"]) == 5
try:
    assert page["total"] < 0, f"total is {page['total']}"
except AssertionError as e:
    print("assertion:", e)
