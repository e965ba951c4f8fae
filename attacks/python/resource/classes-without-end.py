# attack: makes classes, functions, modules and interned names without end
# property: S23
# timeout_ms: 5000
# expect: error memory_limit|timeout
import sys
import types

kept = []
n = 0
while True:
    n += 1
    kept.append(type(f"C{n}", (dict,), {f"m{i}": lambda self: None for i in range(50)}))
    sys.intern(f"name {n} " * 100)
    sys.modules[f"m{n}"] = types.ModuleType(f"m{n}")
