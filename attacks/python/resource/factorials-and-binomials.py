# attack: one call of math that never comes back
# property: S21
# timeout_ms: 1000
# expect: error timeout|memory_limit
import math

math.comb(10**7, 5 * 10**6)
math.factorial(10**8)
