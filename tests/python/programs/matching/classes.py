# Class patterns: dataclasses, builtins, `__match_args__`, nested and with literals.
from dataclasses import dataclass

@dataclass
class Num:
    value: float

@dataclass
class Op:
    sign: str
    left: "Num | Op"
    right: "Num | Op"

class Name:
    __match_args__ = ("text",)
    def __init__(self, text): self.text = text

def evaluate(node, names):
    match node:
        case Num(value):
            return value
        case Name(text):
            return names[text]
        case Op("+", left, right):
            return evaluate(left, names) + evaluate(right, names)
        case Op("*", Num(0), _) | Op("*", _, Num(0)):
            return 0
        case Op("*", left, right):
            return evaluate(left, names) * evaluate(right, names)
        case Op(sign=other):
            raise ValueError(f"unknown sign {other}")

print(evaluate(Op("+", Num(2), Op("*", Name("x"), Num(4))), {"x": 2.5}))
print(evaluate(Op("*", Op("/", Num(1), Num(0)), Num(0)), {}))

def kind(value):
    match value:
        case bool(): return "bool"
        case int(n) if n > 10**6: return "big"
        case int() | float(): return "number"
        case str() as s if not s: return "empty"
        case str(): return "text"
        case None: return "null"
        case list([]): return "empty list"
        case list() | tuple(): return "sequence"
        case {}: return "mapping"

values = tools.shapes.typed_text()
print([kind(v) for v in [*values["items"], "", "x", [], (), {}, 10**7]], kind(values))
