# attack: a server whose results have the names of what every dict and object has, to become code or another type
# property: S48
# expect: value []
import json

names = [
    "__class__", "__dict__", "__init__", "__getattr__", "__getattribute__", "__reduce__", "__setattr__", "__iter__", "__len__", "__eq__",
    "__hash__", "__await__", "__aiter__", "__enter__", "__call__", "__json__", "__del__", "__missing__", "__slots__", "__bases__", "__mro__",
    "keys", "items", "values", "get", "pop", "update", "then", "copy", "isError", "content", "structuredContent", "ok", "error", "code",
]
strange = []
plain = type(tools.probe.say({"result": '{"content":[],"structuredContent":{"a":1}}'}))
for name in names:
    value = {name: "data"}
    result = {"content": [], "structuredContent": value}
    got = tools.probe.say({"result": json.dumps(result)})
    if type(got) is not plain or not isinstance(got, dict) or got[name] != "data" or dict(got) != value:
        strange.append(name)
    if name in dir(dict) and not callable(getattr(got, name, None)) and name not in ("__doc__", "__hash__", "__dict__"):
        strange.append(f"{name} of dict hidden")
    if json.loads(json.dumps(got)) != value:
        strange.append(f"{name} changed")
return strange
