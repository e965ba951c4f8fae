# attack: calls the import with arguments that are not a JSON object, to send a server unchecked data
# property: S44
# expect: contained
import gc
import sys

gc.unfreeze()
modules = [thing for thing in gc.get_objects() if type(thing) is type(sys)] + list(sys.modules.values())
raw = next((m for m in modules if m.__name__ == "wit_world" and hasattr(m, "call") and hasattr(m, "wait")), None)
if raw is None:
    return "held"
bodies = ["", "null", "[1]", "1", "{", "{}{}", '{"a":1,"a":2}', '{"a":1}\n{"jsonrpc":"2.0"}', "{}\0", '{"a":' + "[" * 500 + "]" * 500 + "}"]
for id, body in enumerate(bodies, 1):
    raw.call(id, 1, '{"server":"probe","tool":"echo","form":"value"}', body)
    raw.wait(-1)
return "held"
