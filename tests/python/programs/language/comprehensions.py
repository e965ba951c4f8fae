# Comprehensions: nested, conditional, with walrus, sets and dictionaries.
import re
issues = tools.github.list_issues(owner="a", repo="b", state="all", per_page=10)["issues"]
print([n for i in issues if (n := i["comments"]) > 5])
print({i["user"]["login"]: i["number"] for i in issues}, sorted({l[:3] for i in issues for l in i["labels"]}))
print([[r * c for c in range(1, 4)] for r in range(1, 3)], [x for row in [[1], [2, 3]] for x in row if x != 2])
words = [w for i in issues if (m := re.search(r"on build (\d+)", i["body"])) and int(m[1]) % 2 for w in i["title"].split() if w.istitle()]
print(words, any(i["assignee"] for i in issues), all("number" in i for i in issues), sum(1 for i in issues if not i["labels"]))
print({k: [v for _, v in pairs] for k, pairs in {"a": [(1, 2), (3, 4)]}.items()}, ["even" if n % 2 == 0 else "odd" for n in range(3)])
