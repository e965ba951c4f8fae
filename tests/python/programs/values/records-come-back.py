# Results of tools, and parts of them, are values.
page = tools.github.list_issues(owner="a", repo="b", per_page=2)
return {"first": page.issues[0], "labels": [i.labels for i in page.issues], "same": page["total"] == page.total}
