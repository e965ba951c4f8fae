# attack: counts how often it is woken between two milliseconds by sleeps of no length, to have a finer clock
# property: S20
# timeout_ms: 5000
# expect: value "held"
import time

counts, wakes, last = [], 0, time.time_ns() // 1_000_000
end = last + 200
while last < end:
    time.sleep(0.000001)
    wakes += 1
    now = time.time_ns() // 1_000_000
    if now == last:
        continue
    counts.append(wakes / (now - last))
    wakes, last = 0, now
most = max(counts)
return "held" if most <= 12 else f"woken {most} times in a millisecond"
