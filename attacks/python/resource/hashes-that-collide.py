# attack: a dictionary whose keys all have one hash
# property: S21
# timeout_ms: 1000
# expect: error timeout
collisions = {}
step = 2**61 - 1 if hash(2**61 - 1) == 0 else 2**31 - 1
for n in range(10**6):
    collisions[n * step] = n
