# attack: leaves names in its globals, the built-ins, modules, classes and caches for the next program
# property: S12
# expect: value "left"
import builtins
import collections
import functools
import json
import linecache
import os
import re
import sys
import types

left = 1
builtins.left = builtins.polluted = 1
sys.modules["left_module"] = types.ModuleType("left_module")
sys.path.insert(0, "/tmp")
sys.meta_path.append(None)
json.left = os.left = ToolError.left = type(tools).left = 1
collections.Counter.left = 1
json.dumps = lambda *a, **k: "left"
linecache.cache["left"] = (1, None, ["left"], "left")
functools.left = functools.lru_cache(lambda: 1)
sys.intern("left by the program before")
re.compile("left by the program before")
type(tools).__getattr__ = lambda self, name: "left"
return "left"
