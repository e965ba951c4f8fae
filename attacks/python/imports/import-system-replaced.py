# attack: puts hooks before every import and empties the table of modules, to be asked for what the prelude needs
# property: S06
# tools: ["probe.echo"]
# expect: value ["{\"a\":1}", "denied"]
import builtins
import sys



class Finder:
    def find_spec(self, name, path=None, target=None):
        return None


kept = builtins.__import__
sys.meta_path.insert(0, Finder())
builtins.__import__ = lambda name, *a, **k: kept(name, *a, **k)
for name in list(sys.modules):
    if name.startswith(("limbeck", "wit_world", "componentize", "asyncio", "json")):
        del sys.modules[name]
sent = tools.probe.echo({"a": 1}).text
name = "note"
try:
    getattr(tools.probe, name)({"mark": "denied"})
    code = "sent"
except ToolError as error:
    code = error.code
return [sent, code]
