# Groups made by hand, split, nested and handled with `except*`.
def check(rows):
    problems = []
    for at, row in enumerate(rows):
        if not isinstance(row.get("id"), int):
            problems.append(TypeError(f"row {at}: id"))
        if row.get("score", 0) < 0:
            problems.append(ValueError(f"row {at}: score"))
    if problems:
        raise ExceptionGroup("bad rows", problems)

try:
    check([{"id": 1}, {"id": "2", "score": -1}, {"score": -5}])
except* TypeError as group:
    print("types:", [str(e) for e in group.exceptions])
except* ValueError as group:
    print("values:", len(group.exceptions), group.message)

nested = ExceptionGroup("outer", [ValueError("a"), ExceptionGroup("inner", [KeyError("b"), OSError("c")])])
matching, rest = nested.split(lambda e: isinstance(e, (ValueError, OSError)))
print(matching.exceptions[0], matching.exceptions[1].exceptions[0], "|", rest.exceptions[0].exceptions)
print(nested.subgroup(KeyError))
