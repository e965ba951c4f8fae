# A class with `__iter__` and `__next__` over pages, with a buffer.
class Pager:
    def __init__(self, fetch):
        self.fetch = fetch
        self.cursor = ""
        self.buffer = []
        self.requests = 0

    def __iter__(self):
        return self

    def __next__(self):
        if not self.buffer:
            if self.cursor is None:
                raise StopIteration
            page = self.fetch(self.cursor)
            self.requests += 1
            self.buffer = list(page["channels"])
            self.cursor = page["next_cursor"] or None
        return self.buffer.pop(0)

pager = Pager(lambda cursor: tools.slack.list_channels(cursor=cursor, limit=2))
biggest = max(pager, key=lambda c: c["members"])
print(biggest["name"], pager.requests)
print(next(pager, "exhausted"))
