# Finds the open issues that a pull request seems to fix, over structured and JSON-text results.
import json

issues = []
page = 1
while True:
    batch = await tools.github.list_issues({"owner": "acme", "repo": "sample", "state": "open", "page": page, "per_page": 20})
    issues.extend(batch.issues)
    if not batch.has_next:
        break
    page += 1

pulls = json.loads(await tools.github.list_pull_requests(owner="acme", repo="sample"))
matches = []
for pull in pulls:
    words = {w.lower().strip(":") for w in pull["title"].split() if len(w) > 3}
    for issue in issues:
        common = words & {w.lower() for w in issue["title"].split()}
        if len(common) >= 2:
            matches.append((pull["number"], issue["number"], sorted(common)))

for pull_number, issue_number, words in matches[:10]:
    print(f"PR #{pull_number} ~ issue #{issue_number}: {', '.join(words)}")
return {"pulls": len(pulls), "issues": len(issues), "matches": len(matches)}
