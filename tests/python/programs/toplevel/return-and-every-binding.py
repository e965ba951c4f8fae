# Every way to bind a name, in a program with a top-level `return`: all are globals.
import os.path as path
from collections import Counter as C, deque

a = b = 1
(c, [d, *e]), f = (2, [3, 4, 5]), 6
a += 10
annotated: int = 7
declared: str
for g, (h, i) in enumerate([(1, 2)]):
    pass
with open("/tmp/corpus-binding", "w") as file, file as same:
    file.write("x")
try:
    1 / 0
except ZeroDivisionError as error:
    caught = str(error)
def function(): return [a, b, c, d, e, f, g, h, i, annotated]
class Klass:
    value = a
    def get(self): return Klass.value + f
if (walrus := len("four")) > 3: pass
squares = [(last := n * n) for n in range(4)]
match {"k": [1, {"deep": "x"}]}:
    case {"k": [first, {"deep": deep}], **rest}: pass
del b
import json, math as m
lambda_ = lambda: (walrus, last, first, deep, rest)
return {"function": [n for n in (a, c, d, e, f, g, h, i, annotated)], "class": Klass().get(), "lambda": list(lambda_()), "caught": caught,
        "modules": [path.basename("/x/y"), C("aa")["a"], m.floor(1.5), json.dumps(1)], "deleted": "b" in globals(), "declared": "declared" in globals(), "same": same is file}
