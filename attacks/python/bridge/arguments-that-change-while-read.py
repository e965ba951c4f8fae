# attack: arguments that answer differently each time they are read, so that what was checked is not what is sent
# property: S44
# tools: ["probe.*"]
# expect: value []
import json


class Dict(dict):
    reads = 0

    def __getitem__(self, key):
        Dict.reads += 1
        return "first" if Dict.reads == 1 else "later"

    def items(self):
        Dict.reads += 1
        return [("a", "first" if Dict.reads == 1 else "later")]

    def __iter__(self):
        self["grown"] = 1
        return iter(["a"])


class Text(str):
    def __str__(self):
        return "other"

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__

    def encode(self, *args):
        return b"other"


class Number(int):
    def __repr__(self):
        return '1,"forged":2'

    __str__ = __repr__


class Float(float):
    def __repr__(self):
        return '1,"forged":2'


strange = []
for value in [Dict(a="kept"), Text("kept"), Number(7), Float(7.5), [Text("kept"), Number(1)], {Text("k"): Number(2)}]:
    try:
        text = tools.probe.echo({"v": value}).text
        if "forged" in json.loads(text) or "forged" in text:
            strange.append(text)
    except Exception as error:
        if type(error).__name__ not in ("TypeError", "ValueError", "RuntimeError", "ToolError"):
            strange.append(repr(error))
return strange
