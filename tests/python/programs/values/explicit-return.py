# `return` at the top level ends the program with its value.
issues = tools.github.list_issues(owner="a", repo="b", per_page=3)["issues"]
for issue in issues:
    if "bug" in issue["labels"]:
        print("found", issue["number"])
        return {"number": issue["number"], "title": issue["title"]}
print("not reached")
