# attack: raises from code that claims to be of another file, with lines of its own making in the cache of lines
# property: S55
# input: {"file": "{{canary_file}}"}
# expect: error exception
# message: forged
import linecache

for name in list(linecache.cache) + ["program.py", "/etc/passwd"]:
    linecache.cache[name] = (1, None, ["x" * (1 << 20) + "\n"] * 100, name)
code = compile("def f():\n    raise ValueError('forged')\n", input["file"], "exec")
code = code.replace(co_firstlineno=2**31 - 1, co_linetable=b"\xff" * 64)
space = {"__file__": input["file"], "__name__": "x" * 100_000, "__loader__": None}
exec(code, space)
space["f"].__code__ = space["f"].__code__.replace(co_name="n" * 100_000, co_filename="/proc/self/environ", co_qualname="\x1b[31m")
space["f"]()
