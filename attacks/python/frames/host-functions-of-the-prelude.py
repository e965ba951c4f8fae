# attack: finds the imports of the guest in any frame, module or object, and calls a tool by them past its patterns
# property: S40
# tools: ["shop.list_customers"]
# expect: value "held"
import gc
import json
import sys

gc.unfreeze()
modules = [module for module in gc.get_objects() if type(module) is type(sys)]
modules += sys.modules.values()
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
raw.call(1, 1, json.dumps({"server": "probe", "tool": "echo", "form": "value"}), '{"x":1}')
[answer] = raw.wait(-1)
id, ok, text = (answer[0], answer[1], answer[2]) if isinstance(answer, (tuple, list)) else vars(answer).values()
return "held" if not ok and json.loads(text)["code"] == "denied" else [id, ok, text]
