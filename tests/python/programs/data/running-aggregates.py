# Moving averages and detection of spikes.
from collections import deque

def moving(values, size):
    window, total = deque(), 0.0
    for value in values:
        window.append(value); total += value
        if len(window) > size:
            total -= window.popleft()
        yield total / len(window)

points = tools.time_series.query_range(metric="requests", minutes=15)["points"]
filled, last = [], 0.0
for _, value in points:
    last = value if value is not None else last
    filled.append(last)
averages = [round(a, 2) for a in moving(filled, 4)]
spikes = [at for at, (v, a) in enumerate(zip(filled, averages)) if v > 1.5 * a]
print(averages)
{"spikes": spikes, "peak": max(filled)}
