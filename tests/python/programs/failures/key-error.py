# A misread key.
page = tools.github.list_issues(owner="a", repo="b", per_page=1)
first = page["issues"][0]
print(first["number"])
print(first["author"]["login"])
