# attack: ends its worker by memory, to leave the pool with a broken one
# property: S39
# timeout_ms: 10000
# expect: error memory_limit
kept = []
while True:
    kept.append(bytearray(b"left" * (1 << 20)))
