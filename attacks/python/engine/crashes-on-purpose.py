# attack: ends its process by the functions that are made to
# property: S34
# expect: contained
import faulthandler
import signal

for name in ["_sigsegv", "_sigabrt", "_sigfpe", "_stack_overflow", "_fatal_error_c_thread", "_read_null"]:
    try:
        getattr(faulthandler, name)()
    except BaseException:
        pass
for number in range(1, 65):
    try:
        signal.raise_signal(number)
    except BaseException:
        pass
return "held"
