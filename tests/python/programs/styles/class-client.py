# A client class around the tools, as models like to write.
class GitHub:
    def __init__(self, owner, repo):
        self.owner, self.repo = owner, repo

    def _call(self, name, **kwargs):
        return getattr(tools.github, name)(owner=self.owner, repo=self.repo, **kwargs)

    def issues(self, **filters):
        page = 1
        while True:
            batch = self._call("list_issues", page=page, **filters)
            yield from batch["issues"]
            if not batch["has_next"]:
                return
            page += 1

    @property
    def open_bugs(self):
        return sum(1 for _ in self.issues(state="open", labels=["bug"]))

client = GitHub("acme", "sample")
print(client.open_bugs, next(client.issues(state="closed"))["number"])
