# attack: passes functions, classes, modules, generators, files and objects with hooks as arguments
# property: S07
# expect: value []
import json
import sys


class Hook:
    def __init__(self):
        self.secret = "attribute"

    def __json__(self):
        return {"forged": 1}

    __iter__ = lambda self: iter([1])
    keys = lambda self: ["forged"]
    __getitem__ = lambda self, key: "forged"
    __len__ = lambda self: 1


strange = []
for value in [print, Hook, Hook(), sys, open, (n for n in [1]), tools, tools.probe, object(), sys._getframe(), type, NotImplemented, ...]:
    try:
        text = tools.probe.echo({"v": value}).text
        if type(json.loads(text)["v"]) not in (str, list, dict, int, type(None)):
            strange.append(text)
    except Exception:
        pass
return strange
