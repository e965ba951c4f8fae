# attack: sends the contract check malformed call sites, in great numbers and sizes
# property: S42
# timeout_ms: 3000
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
import json

site = {"line": 1, "column": 1, "tool": "mcp__probe__echo", "arguments": [], "complete": True, "positional": 0, "awaited": True}
bodies = ["", "null", "[]", "{}", '{"sites":null}', '{"sites":[{}]}', '{"sites":[' + "[" * 200 + "]" * 200 + "]}"]
bodies += [json.dumps({"sites": [{**site, **change}]}) for change in [{"line": -1}, {"line": 2**70}, {"tool": None}, {"tool": ""}, {"arguments": [{"name": "x" * 100_000}]}, {"server": "x" * 200_000, "tool": "\0"}]]
bodies += [json.dumps({"sites": [site] * 20_000}), json.dumps({"sites": [{**site, "arguments": [{"name": str(n)} for n in range(5_000)]}]})]
for id, body in enumerate(bodies, 1):
    raw.call(id, 7, "", body)
    raw.wait(-1)
return "held"
