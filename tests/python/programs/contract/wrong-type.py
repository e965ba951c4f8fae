# A text where a number belongs.
# message: any
number = 5
print(tools.github.get_issue(owner="a", repo="b", number="5")["title"])
