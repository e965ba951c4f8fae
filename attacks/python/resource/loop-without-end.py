# attack: a loop without calls, allocations or waits
# property: S21
# timeout_ms: 700
# expect: error timeout
while True:
    pass
