# `match` over records of a tool, with guards, captures and alternatives.
def classify(issue):
    match issue:
        case {"state": "closed", "comments": 0}:
            return "closed in silence"
        case {"labels": [*_, "bug"] | ["bug", *_], "assignee": None}:
            return "unassigned bug"
        case {"assignee": {"login": who}, "comments": n} if n > 6:
            return f"{who} is discussing ({n})"
        case {"user": {"login": "ada" | "grace" as who}, **rest}:
            return f"by {who}, {len(rest)} other keys"
        case {"title": str(title)}:
            return title.split()[0].lower()
        case _:
            return "?"

for issue in tools.github.list_issues(owner="a", repo="b", state="all", per_page=12)["issues"]:
    print(issue["number"], classify(issue))
