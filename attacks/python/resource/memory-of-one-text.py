# attack: asks for texts and buffers larger than any memory, and goes on when they are refused
# property: S23
# timeout_ms: 5000
# expect: value 8
refused = 0
for make in [
    lambda: "x" * 10**9, lambda: b"x" * 2**31, lambda: bytearray(10**9), lambda: [0] * 10**9, lambda: f"{1:>2000000000}",
    lambda: "%1999999999d" % 1, lambda: "{:>{}}".format("x", 10**9), lambda: "x".ljust(10**9),
]:
    try:
        make()
    except (MemoryError, OverflowError, ValueError):
        refused += 1
return refused
