# control: what a program does to the built-in names happens, so that the attacks below did something
# property: S06
# expect: value [0, "forged", true]
import builtins
import json

kept = builtins.len
builtins.len = lambda thing: 0
seen = len([1, 2, 3])
builtins.len = kept
loads = json.loads
json.loads = lambda text: "forged"
forged = json.loads("1")
json.loads = loads
return [seen, forged, callable(tools.probe.echo)]
