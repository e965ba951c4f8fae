# attack: lifts every limit it can name: of the interpreter, of the process and of the prelude
# property: S38
# timeout_ms: 700
# expect: error timeout
import gc
import sys

sys.setrecursionlimit(2**31 - 1)
sys.set_int_max_str_digits(0)
gc.unfreeze()
for thing in gc.get_objects():
    if type(thing) is dict:
        for key in ["wall_ms", "cpu_ms", "memory_bytes", "calls", "calls_pending", "log_bytes", "value_bytes", "timeout_ms"]:
            if key in thing:
                thing[key] = 2**62
try:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))
except (ImportError, OSError, ValueError):
    pass
try:
    import signal

    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
except (ImportError, AttributeError, OSError, ValueError):
    pass
while True:
    pass
