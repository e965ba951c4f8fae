# attack: catches the end of memory and asks again, without end
# property: S23
# timeout_ms: 3000
# expect: error memory_limit|timeout
kept = []
while True:
    try:
        while True:
            kept.append(bytearray(1 << 20))
    except MemoryError:
        try:
            kept.append("x" * 1000)
        except MemoryError:
            pass
