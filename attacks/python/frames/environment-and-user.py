# attack: asks for the environment, the arguments, the user and the machine by every function that returns them
# property: S01
# input: {"variable": "{{canary_variable}}"}
# expect: value []
import getpass
import os
import platform
import posix
import socket
import sys

reached = []


def attempt(how, f):
    try:
        got = f()
    except BaseException:
        return
    if got not in (None, "", [], (), 0, -1, False):
        reached.append(f"{how}: {got!r:.80}")


def environment():
    return {key: os.environ[key] for key in os.environ if not key.startswith(("MCP_", "PYTHON", "HOME", "TMPDIR", "PWD"))}


attempt("variable", lambda: os.environ.get(input["variable"]))
attempt("getenv", lambda: os.getenv(input["variable"]))
attempt("environ", lambda: sorted(environment()))
attempt("posix", lambda: posix.environ.get(input["variable"].encode()))
attempt("reload", lambda: os.reload_environ() or os.environ.get(input["variable"]))
attempt("expandvars", lambda: os.path.expandvars("$" + input["variable"]).removeprefix("$" + input["variable"]))
attempt("user", lambda: getpass.getuser())
attempt("login", lambda: os.getlogin())
attempt("pwd", lambda: __import__("pwd").getpwall())
attempt("node", lambda: platform.node().replace("(none)", ""))
attempt("hostname", lambda: socket.gethostname().replace("(none)", ""))
attempt("processors", lambda: (os.cpu_count() or 1) > 1)
attempt("load", lambda: os.getloadavg())
attempt("parent", lambda: os.getppid())
attempt("groups", lambda: os.getgroups())
attempt("terminal", lambda: os.isatty(0) or os.isatty(1))
attempt("ttyname", lambda: os.ttyname(0))
attempt("flags", lambda: [arg for arg in sys.orig_argv if "/" in arg])
attempt("input", lambda: sys.stdin.read())
return reached
