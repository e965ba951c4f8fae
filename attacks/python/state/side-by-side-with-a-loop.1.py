# attack: computes without end, and asks for all memory, while a program of the other language runs
# property: S37
# order: together
# timeout_ms: 1500
# expect: error timeout|memory_limit
kept = []
while True:
    kept.append(bytearray(1 << 16))
    if len(kept) > 2_000:
        kept.clear()
