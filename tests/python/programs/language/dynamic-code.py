# getattr, setattr, type(), exec and eval on the program's own text, vars, callable.
operations = {"max": max, "mean": lambda v: sum(v) / len(v)}
scores = [r["score"] for r in tools.shapes.rows(count=5)["rows"]]
print({name: round(f(scores), 2) for name, f in operations.items()})
Point = type("Point", (), {"__init__": lambda self, x: setattr(self, "x", x), "twice": property(lambda self: self.x * 2)})
p = Point(4)
print(getattr(p, "twice"), getattr(p, "nope", None), hasattr(p, "x"), vars(p), callable(p), type(p).__name__)
namespace = {}
exec("def triple(n):\n    return n * 3", namespace)
print(namespace["triple"](5), eval("a + b", {"a": 1, "b": 2}), eval(compile("2 ** 10", "<text>", "eval")))
name = "list_pages"
print(len(getattr(tools.wiki, name)()["pages"]), isinstance(p, Point), issubclass(bool, int), id(p) == id(p))
import importlib
print(importlib.import_module("json").dumps([1]), __import__("math").pi > 3)
