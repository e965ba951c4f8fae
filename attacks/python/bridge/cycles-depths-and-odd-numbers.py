# attack: arguments with cycles, thousands of levels, infinities, huge integers and keys of every type
# property: S28
# timeout_ms: 8000
# expect: value []
import json


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


cycle = []
cycle.append(cycle)
strange = []
tries = {
    "cycle": cycle,
    "deep": nested(200),
    "deeper": nested(100_000),
    "nan": float("nan"),
    "infinity": float("-inf"),
    "huge": 10**4_000,
    "huger": 1 << 100_000,
    "bytes": b"\xff",
    "keys": {None: 1, True: 2, 1.5: 3, (1, 2): 4, b"k": 5},
    "surrogate": "\ud800",
    "complex": 1j,
}
for how, value in tries.items():
    try:
        text = tools.probe.echo({"v": value}).text
        json.loads(text, parse_constant=lambda name: strange.append(f"{how}: {name}"))
    except (TypeError, ValueError, RecursionError, ToolError):
        pass
if tools.probe.echo({"after": 1}).text != '{"after":1}':
    strange.append("after")
return strange
