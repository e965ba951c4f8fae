# attack: reads every clock around a long computation, looking for one that moves
# property: S20
# timeout_ms: 10000
# expect: value []
import datetime
import email.utils
import logging
import os
import time
import uuid


def of_file():
    with open("/tmp/clock", "w") as file:
        file.write("x")
    return os.stat("/tmp/clock").st_mtime_ns


clocks = {
    "file": of_file,
    "datetime": datetime.datetime.now,
    "utc": lambda: datetime.datetime.now(datetime.timezone.utc),
    "date": email.utils.formatdate,
    "uuid1": lambda: uuid.uuid1().time // 10_000,
    "log": lambda: logging.LogRecord("x", 1, "x", 1, "x", (), None).created,
}
for name in ["time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "thread_time", "ctime"]:
    if hasattr(time, name):
        clocks[name] = getattr(time, name)
for number in range(16):
    clocks[f"clock {number}"] = lambda number=number: time.clock_gettime_ns(number)
clocks["times"] = lambda: os.times()


def read(clock):
    try:
        return clock()
    except (OSError, AttributeError, NotImplementedError):
        return None


first = {name: read(clock) for name, clock in clocks.items()}
total = 0
for i in range(1_500_000):
    total += i * i
later = {name: read(clock) for name, clock in clocks.items()}
return [name for name in clocks if first[name] != later[name]]
