# operator, string constants, keyword, numbers, types.
import keyword
import numbers
import operator
import string
import types

rows = tools.shapes.rows(count=3)["rows"]
print(list(map(operator.itemgetter("id", "group"), rows)), operator.methodcaller("upper")("x"), operator.attrgetter("id")(rows[1]))
print(string.ascii_lowercase[:5], string.digits, string.punctuation[:4], string.capwords("two words"), keyword.iskeyword("match"), keyword.iskeyword("class"))
print(isinstance(5, numbers.Integral), isinstance(1.5, numbers.Real), isinstance(rows[0]["score"], numbers.Number), operator.concat([1], [2]))
ns = types.SimpleNamespace(**rows[2])
print(ns.group, ns == types.SimpleNamespace(**rows[2]), types.MappingProxyType({"a": 1})["a"])
