# attack: looks for names that the program before left
# property: S12
# expect: value []
import builtins
import collections
import functools
import json
import linecache
import os
import sys

found = []
for holder in [builtins, json, os, type(tools), ToolError, collections.Counter, functools]:
    if "left" in vars(holder):
        found.append(repr(holder)[:60])
if "left" in globals() or hasattr(builtins, "left") or hasattr(builtins, "polluted"):
    found.append("global")
if "left_module" in sys.modules or "/tmp" in sys.path or None in sys.meta_path or "left" in linecache.cache:
    found.append("tables")
if json.dumps([1]) != "[1]" or len(tools.shop.list_customers(page_size=1)["items"]) != 1:
    found.append("behaviour")
return found
