# A container class that acts like a mapping, with iteration, slicing and deletion.
from collections.abc import MutableMapping

class CaseInsensitive(MutableMapping):
    def __init__(self, items=()):
        self._items = {}
        self.update(items)

    def __getitem__(self, key):
        return self._items[key.lower()][1]

    def __setitem__(self, key, value):
        self._items[key.lower()] = (key, value)

    def __delitem__(self, key):
        del self._items[key.lower()]

    def __iter__(self):
        return (key for key, _ in self._items.values())

    def __len__(self):
        return len(self._items)

headers = CaseInsensitive({"Content-Type": "text/html", "ETag": "x"})
headers["content-type"] = "application/json"
print(dict(headers), "CONTENT-TYPE" in headers, headers.get("nope"), len(headers))
print(headers.pop("etag"), list(headers.keys()), headers.setdefault("Age", 0))

class Window:
    def __init__(self, items): self.items = list(items)
    def __getitem__(self, at): return self.items[at] if isinstance(at, int) else Window(self.items[at])
    def __len__(self): return len(self.items)
    def __repr__(self): return f"<{self.items}>"

rows = Window(tools.shapes.rows(count=9)["rows"])
print(len(rows[2:7:2]), rows[-1]["score"], [r["id"] for r in reversed(rows)][:3])
