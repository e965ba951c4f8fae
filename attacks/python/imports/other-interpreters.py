# attack: makes a second interpreter without the prelude, and looks in it for a file, an environment and a socket
# property: S06
# input: {"file": "{{canary_file}}", "variable": "{{canary_variable}}"}
# expect: value []
reached = []
tries = [
    f"open({input['file']!r}).read()",
    f"__import__('os').environ[{input['variable']!r}]",
    "__import__('os').system('id')",
    "__import__('socket').socket()",
]
for name in ["_interpreters", "_xxsubinterpreters", "concurrent.interpreters"]:
    for code in tries:
        try:
            module = __import__(name, fromlist=["create"])
            other = module.create()
            if hasattr(other, "exec"):
                failed = other.exec(code)
            else:
                failed = module.exec(other, code)
            if failed is None:
                reached.append(f"{name}: {code[:30]}")
        except BaseException:
            pass
return reached
