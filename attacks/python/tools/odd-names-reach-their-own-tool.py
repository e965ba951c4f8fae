# attack: tools whose names are `__proto__` and a piece of code, to be looked up wrongly or run on the way
# property: S41
# expect: value ["__proto__", "hasOwnProperty", "a\"]; throw 1; //", "toString", "then"]
import importlib

names = ["__proto__", "hasOwnProperty", 'a"]; throw 1; //']
out = [tools.probe[name]()["reached"] for name in names]
wrappers = importlib.import_module("mcp.servers.probe")
assert all(callable(value) or name.startswith("_") or name.isupper() for name, value in vars(wrappers).items())
return [*out, call_tool("mcp__probe__toString")["reached"], call_tool("mcp__probe__then")["reached"]]
