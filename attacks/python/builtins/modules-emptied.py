# attack: empties the modules that the prelude uses, their dictionaries and the table of modules
# property: S34
# expect: contained
import sys

for name in ["json", "asyncio", "traceback", "linecache", "types", "io", "ast", "limbeck_guest", "wit_world", "app"]:
    module = sys.modules.get(name)
    if module is not None:
        vars(module).clear()
sys.modules.clear()
return {"a": 1}
