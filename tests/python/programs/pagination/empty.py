# Nothing to page through.
import json
page = tools.github.list_issues(owner="acme", repo="empty")
pulls = json.loads(tools.github.list_pull_requests(owner="acme", repo="empty"))
numbers = [i["number"] for i in page["issues"]]
print(numbers, page["total"], page["has_next"], pulls, max(numbers, default=None))
return {"empty": not numbers and not pulls}
