# control: time does pass while the program waits, so a clock that does not move was not merely slow
# property: S20
# expect: value [true, true, true, true]
import asyncio
import datetime
import time

before = [time.time(), time.monotonic(), time.perf_counter()]
start = datetime.datetime.now()
await asyncio.sleep(0.03)
time.sleep(0.03)
passed = [time.time() - before[0], time.monotonic() - before[1], time.perf_counter() - before[2]]
return [*(0.058 <= seconds < 2 for seconds in passed), (datetime.datetime.now() - start).total_seconds() >= 0.058]
