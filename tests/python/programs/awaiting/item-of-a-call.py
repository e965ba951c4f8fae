# Values taken straight out of a call, awaited in parentheses and not.
first = (await tools.github.list_issues(owner="a", repo="b", per_page=1))["issues"][0]["number"]
second = tools.github.get_issue(owner="a", repo="b", number=2)["title"]
third = tools.github.get_issue(owner="a", repo="b", number=3).user.login
print(first, second, third)
