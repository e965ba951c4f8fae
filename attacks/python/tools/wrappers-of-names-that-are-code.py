# attack: imports wrappers by names that are paths, code and texts of megabytes
# property: S14
# expect: value []
import importlib
import sys

reached = []
names = ["../../etc/passwd", "shop\nimport os", "shop.__init__", "x" * 1_000_000, "", ".", "shop;os", "__init__", "os", "\0", "..runtime", "shop.os"]
for name in names:
    for prefix in ["mcp.servers.", "mcp."]:
        try:
            module = importlib.import_module(prefix + name)
            if getattr(module, "system", None) or getattr(module, "__file__", None):
                reached.append(name[:40])
        except (ImportError, ValueError, TypeError, KeyError):
            pass
for alias in ["servers.shop", "servers.probe"]:
    module = sys.modules.get(f"mcp.{alias}") or importlib.import_module(f"mcp.{alias}")
    for name, value in vars(module).items():
        if name in ("os", "sys", "json", "subprocess"):
            reached.append(f"{alias}.{name}")
return reached
