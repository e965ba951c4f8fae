# Counter, defaultdict, deque, ChainMap, OrderedDict.
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque

issues = tools.github.list_issues(owner="a", repo="b", state="all", per_page=47)["issues"]
labels = Counter(label for issue in issues for label in issue["labels"])
print(labels.most_common(2), labels["nope"], (labels - Counter(bug=10))["bug"], labels.total())
by_author = defaultdict(lambda: {"open": 0, "closed": 0})
for issue in issues:
    by_author[issue["user"]["login"]][issue["state"]] += 1
print(dict(sorted(by_author.items())))
recent = deque(maxlen=3)
recent.extend(i["number"] for i in issues)
recent.appendleft(0); recent.rotate(1)
print(recent, list(recent)[-1])
settings = ChainMap({"debug": True}, {"debug": False, "level": 3})
print(settings["debug"], settings["level"], dict(settings.parents))
ordered = OrderedDict(a=1, b=2, c=3); ordered.move_to_end("a"); ordered.popitem(last=False)
print(ordered == OrderedDict(c=3, a=1), list(ordered), Counter("abca") & Counter("aab"), +Counter(a=-1, b=2))
