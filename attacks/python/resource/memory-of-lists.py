# attack: appends to a list without end
# property: S23
# timeout_ms: 10000
# expect: error memory_limit
kept = []
while True:
    kept.append([0] * 1000)
