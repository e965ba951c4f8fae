# JSON: separators, sort_keys, default, hooks, NaN, duplicates, big numbers, errors.
import json
from datetime import date
from decimal import Decimal

numbers = tools.shapes.numbers()
print(numbers["big"], numbers["bigger"], numbers["whole"], numbers["tiny"], numbers["zero"])
print(json.dumps({"b": [1, 2.0, None, True], "a": "é\n\u2028"}, sort_keys=True, separators=(",", ":")))
print(json.dumps({"é": "☕", 1: 2, None: 3, True: 4, 1.5: 5}, ensure_ascii=False))
print(json.dumps({"day": date(2026, 3, 1), "money": Decimal("1.10"), "set": {1}}, default=lambda o: sorted(o) if isinstance(o, set) else str(o)))
print(json.loads("[1.10, 2]", parse_float=Decimal), json.loads('{"a": 1, "a": 2}'), json.loads('{"a": {"b": 1}}', object_hook=lambda d: sorted(d)))
print(json.dumps(float("nan")), json.loads("[NaN, -Infinity]"), json.dumps("\ud83d\ude00"), json.loads('"\\ud83d\\ude00"'))
for bad in ("{'a': 1}", "", '{"a" 1}', "[1] x"):
    try:
        json.loads(bad)
    except json.JSONDecodeError as e:
        print(repr(bad), e.lineno, e.colno, e.pos)
print(json.dumps([[], {}, [1, {"a": []}]], indent=2))
