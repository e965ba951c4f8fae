# Dataclasses made of records: defaults, factories, ordering, `replace`, `asdict`, frozen.
from dataclasses import asdict, astuple, dataclass, field, fields, replace

@dataclass(order=True)
class Deal:
    amount: float
    id: str = field(compare=False)
    stage: str = field(default="lead", compare=False)
    tags: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def big(self) -> bool:
        return self.amount > 10_000

    @classmethod
    def from_json(cls, record: dict) -> "Deal":
        names = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in record.items() if k in names})

@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("x must not be negative")

deals = [Deal.from_json(d) for d in tools.crm.list_deals(owner="ada").deals]
print(max(deals), min(deals))
print(sum(d.big for d in deals), replace(deals[0], stage="won"))
p = Point(3)
print(p, hash(p) == hash(Point(3, 0)), {p: "here"}[Point(3)])
for wrong in (lambda: Point(-1), lambda: setattr(p, "x", 5)):
    try:
        wrong()
    except Exception as e:
        print(type(e).__name__, e)
print(astuple(deals[1]))
asdict(deals[0])
