# attack: replaces every hook that receives an uncaught error, to hide it or to change the end
# property: S38
# expect: error exception
# message: ValueError: real
import sys
import threading
import traceback


def forge(*args, **kwargs):
    print("forged")
    raise SystemExit(0)


sys.excepthook = sys.unraisablehook = sys.displayhook = threading.excepthook = forge
sys.__excepthook__ = forge
traceback.print_exc = traceback.format_exc = traceback.print_exception = traceback.format_exception = forge
traceback.TracebackException = forge
raise ValueError("real")
