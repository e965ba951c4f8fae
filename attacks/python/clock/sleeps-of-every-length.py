# attack: sleeps for times that are negative, no numbers and beyond every clock
# property: S26
# timeout_ms: 1000
# expect: error timeout
import time

for seconds in [0, -1, float("nan"), "1", None, 1e-300, True]:
    try:
        time.sleep(seconds)
    except (ValueError, TypeError):
        pass
for seconds in [float("inf"), 1e300, 2**70, 9.3e9]:
    try:
        time.sleep(seconds)
    except (ValueError, OverflowError, OSError):
        pass
