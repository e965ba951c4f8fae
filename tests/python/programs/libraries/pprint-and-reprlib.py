# pprint, reprlib and textual tables of nested records.
from pprint import pformat, pprint
import reprlib

contact = dict(tools.crm.get_contact(id=13))
pprint(contact, width=60, sort_dicts=True)
pprint(tools.shapes.nested()["tree"]["children"][0], width=40, depth=1)
print(pformat([1, "two", {"three": (3,)}], compact=True))
short = reprlib.Repr()
short.maxstring = 10
print(reprlib.repr(list(range(100))), short.repr("a" * 40))
