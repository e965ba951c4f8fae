# attack: calls native code by every module that can name a function or an address
# property: S08
# expect: value []
import importlib

reached = []


def attempt(how, f):
    try:
        got = f()
    except BaseException:
        return
    reached.append(f"{how}: {got!r:.60}")


def module(name):
    return importlib.import_module(name)


attempt("CDLL", lambda: module("ctypes").CDLL(None))
attempt("pythonapi", lambda: module("ctypes").pythonapi.Py_GetVersion)
attempt("string_at", lambda: module("ctypes").string_at(0, 1))
attempt("cast", lambda: module("ctypes").cast(id(reached), module("ctypes").py_object).value)
attempt("find_library", lambda: module("ctypes.util").find_library("c").encode())
attempt("_ctypes", lambda: module("_ctypes").dlopen("", 0))
attempt("from_address", lambda: module("ctypes").c_char.from_address(0))
attempt("cffi", lambda: module("cffi").FFI().dlopen(None))
attempt("_cffi_backend", lambda: module("_cffi_backend").load_library(""))
attempt("mmap", lambda: module("mmap").mmap(-1, 4096))
attempt("_testcapi", lambda: module("_testcapi").raise_SIGINT_then_send_None)
attempt("_testinternalcapi", lambda: module("_testinternalcapi").get_configs())
attempt("winreg", lambda: module("winreg").HKEY_CURRENT_USER)
attempt("fcntl", lambda: module("fcntl").fcntl(0, 1))
attempt("termios", lambda: module("termios").tcgetattr(0))
attempt("wasmtime", lambda: module("wasmtime").Store())
attempt("js", lambda: module("js").globalThis)
attempt("pyodide", lambda: module("pyodide").code.run_js("1"))
return reached
