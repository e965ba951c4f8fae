# Abstract bases, `super()`, cooperative inheritance and the method order.
from abc import ABC, abstractmethod

class Report(ABC):
    def __init__(self, title, **more):
        super().__init__(**more)
        self.title = title

    @abstractmethod
    def rows(self): ...

    def render(self):
        return "\n".join([self.title, "-" * len(self.title), *map(str, self.rows())])

class Counting:
    def __init__(self, **more):
        super().__init__(**more)
        self.count = 0

    def rows(self):
        for row in super().rows():
            self.count += 1
            yield f"{self.count}. {row}"

class Repos(Report):
    def rows(self):
        return (r["name"] for r in tools.github.list_repos(owner="acme")["repos"] if not r["archived"])

class Numbered(Counting, Repos):
    pass

print([c.__name__ for c in Numbered.__mro__][:-2])
report = Numbered(title="Repositories")
print(report.render())
try:
    Report("x")
except TypeError as e:
    print("abstract", "rows" in str(e))
