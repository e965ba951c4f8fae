# attack: sends the host call that the contract check was once, about tools that its patterns do not allow
# property: S43
# tools: ["shop.list_customers"]
# expect: error worker_lost
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
import json

words = ["get_customer", "list_orders", "hasOwnProperty", "readOnlyHint"]
sites = [
    {"line": 1, "column": 1, "server": server, "tool": tool, "arguments": [{"name": "page", "value": "x"}], "complete": True, "positional": 0, "awaited": True}
    for server, tool in [("shop", "get_custome"), ("shop", "list_order"), ("probe", "note"), ("probe", "ech"), ("prob", "echo"), ("shop", "list_customers")]
]
raw.call(1, 7, "", json.dumps({"sites": sites}))
[answer] = raw.wait(-1)
return [word for word in words if word in repr(answer)]
