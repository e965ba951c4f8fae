# attack: returns objects whose conversions raise, lie, grow and never end in one another
# property: S25
# timeout_ms: 3000
# expect: contained
import dataclasses
import enum


class Endless:
    def tolist(self):
        return [Endless()]

    def isoformat(self):
        return Endless()

    def _asdict(self):
        return {"a": Endless()}

    __json__ = to_dict = model_dump = dict = item = tolist

    def __iter__(self):
        return iter([Endless()])

    def __repr__(self):
        raise RuntimeError("repr")

    __str__ = __repr__

    @property
    def __class__(self):
        return dict

    @property
    def __dict__(self):
        raise RuntimeError("dict")


@dataclasses.dataclass
class Cycle:
    other: object = None


class Odd(enum.Enum):
    A = Endless()


cycle = Cycle()
cycle.other = cycle
return [Endless(), cycle, Odd.A, {Endless(): Endless()}]
