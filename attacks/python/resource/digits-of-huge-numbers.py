# attack: turns huge integers into decimal digits and back, which costs their square
# property: S21
# timeout_ms: 1000
# expect: error timeout|memory_limit
import sys

sys.set_int_max_str_digits(0)
number = 1 << 40_000_000
while True:
    number = int(str(number)) + 1
