# Page numbers until `has_next` is false.
items, page = [], 1
while True:
    response = tools.github.list_issues(owner="acme", repo="sample", state="all", page=page, per_page=7)
    items += response["issues"]
    print(f"page {page}: {len(response['issues'])}")
    if not response["has_next"]:
        break
    page += 1
assert len(items) == response["total"], (len(items), response["total"])
{"pages": page, "issues": len(items), "first": items[0]["number"], "last": items[-1]["number"]}
