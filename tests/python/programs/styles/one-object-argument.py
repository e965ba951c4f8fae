# The three ways to give arguments.
a = tools.github.get_issue(owner="a", repo="b", number=7)
b = tools.github.get_issue({"owner": "a", "repo": "b", "number": 7})
c = tools["github"]["get_issue"](**{"owner": "a", "repo": "b", "number": 7})
d = tools["github"].get_issue({"owner": "a", "repo": "b"}, number=7)
print(a == b == c == d, a.number)
