# No await anywhere: calls give real values at once.
issues = tools.github.list_issues(owner="acme", repo="sample", per_page=3)
titles = [issue["title"] for issue in issues["issues"]]
for title in titles:
    print("-", title)
print(type(titles).__name__, len(issues["issues"]), isinstance(issues, dict))
