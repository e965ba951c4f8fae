# attack: opens one file again and again without closing it
# property: S30
# timeout_ms: 10000
# expect: value "held"
import os

with open("/tmp/one", "w") as file:
    file.write("x")
try:
    for _ in range(1_000_000):
        os.open("/tmp/one", os.O_RDONLY)
except OSError:
    return "held"
return "a million opened"
