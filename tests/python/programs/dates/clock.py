# The clock goes forward, and agrees with itself.
import time
from datetime import datetime, timezone

a = time.time()
time.sleep(0.02)
b = time.time()
c = datetime.now(timezone.utc).timestamp()
print(0.015 < b - a < 5, b <= c + 0.001, time.monotonic() > 0, time.perf_counter_ns() > 0, time.gmtime(0).tm_year)
print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1772323200)), time.time() > 1_700_000_000)
