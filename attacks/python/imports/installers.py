# attack: installs packages and runs code from files that are not the program's
# property: S14
# input: {"file": "{{canary_file}}"}
# expect: value []
import importlib
import sys

reached = []


def attempt(how, f):
    try:
        got = f()
    except BaseException:
        return
    reached.append(f"{how}: {got!r:.60}")


def module(name):
    return importlib.import_module(name)


attempt("pip", lambda: module("pip").main(["install", "six"]))
attempt("pip._internal", lambda: module("pip._internal").main(["install", "six"]))
attempt("ensurepip", lambda: module("ensurepip").bootstrap())
attempt("micropip", lambda: module("micropip").install("six"))
attempt("venv", lambda: module("venv").create("/tmp/venv", with_pip=True))
attempt("run_path", lambda: module("runpy").run_path(input["file"]))
attempt("run_module", lambda: module("runpy").run_module("pip"))
attempt("SourceFileLoader", lambda: module("importlib.machinery").SourceFileLoader("x", input["file"]).get_data(input["file"]))
attempt("SourcelessFileLoader", lambda: module("importlib.machinery").SourcelessFileLoader("x", input["file"]).get_code("x"))
attempt("zipimporter", lambda: module("zipimport").zipimporter("/usr/lib/python3.zip"))
attempt("get_data", lambda: module("pkgutil").get_data("os", "../../../../../../etc/passwd") or 1 / 0)
attempt("executable", lambda: open(sys.executable, "rb").read(4))
attempt("frozen", lambda: module("_imp").init_frozen("subprocess").Popen)
return reached
