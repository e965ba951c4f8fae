# attack: prints every path and setting that the interpreter, its modules and their code were made with
# property: S55
# stdout: seen
# expect: value "told"
import gc
import locale
import os
import platform
import site
import sys
import sysconfig
import types

gc.unfreeze()
seen = set()


def note(text):
    if isinstance(text, str) and 0 < len(text) < 500:
        seen.add(text.rsplit("/", 1)[0] if text.count("/") > 1 else text)


for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType):
        note(thing.__code__.co_filename)
    elif isinstance(thing, types.ModuleType):
        note(getattr(thing, "__file__", None))
for text in [*sys.path, sys.prefix, sys.exec_prefix, sys.executable, sys.version, *sys.argv, *sys.orig_argv, __file__ if "__file__" in globals() else ""]:
    note(text)
for value in [*sysconfig.get_paths().values(), *platform.uname(), platform.platform(), *site.PREFIXES]:
    note(value)
for read in [sysconfig.get_config_vars, os.getcwd, lambda: os.getlogin(), platform.node, lambda: locale.getlocale()[0], site.getusersitepackages]:
    try:
        got = read()
        for value in got.values() if isinstance(got, dict) else [got]:
            note(value)
    except BaseException:
        pass
print("seen", len(seen))
for text in sorted(seen):
    print(text)
return "told"
