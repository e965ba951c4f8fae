    # A program that is indented as a whole.
    total = 0
    for issue in tools.github.list_issues(owner="a", repo="b", per_page=4)["issues"]:
        total += issue["number"]
    total
