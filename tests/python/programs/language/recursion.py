# Recursion with memory, backtracking, mutual recursion, and a limit that is kept.
import sys
from functools import lru_cache

def permutations(items):
    if len(items) <= 1:
        return [items]
    return [[x] + rest for i, x in enumerate(items) for rest in permutations(items[:i] + items[i + 1:])]

@lru_cache(None)
def ways(amount, coins=(50, 20, 10, 5)):
    if amount == 0: return 1
    if amount < 0 or not coins: return 0
    return ways(amount - coins[0], coins) + ways(amount, coins[1:])

def queens(n, row=0, columns=()):
    if row == n:
        return 1
    return sum(queens(n, row + 1, columns + (c,)) for c in range(n) if all(c != d and abs(c - d) != row - r for r, d in enumerate(columns)))

even = lambda n: True if n == 0 else odd(n - 1)
odd = lambda n: False if n == 0 else even(n - 1)
print(len(permutations([1, 2, 3, 4])), ways(200), queens(6), even(100), sys.getrecursionlimit() >= 1000)

def down(n):
    return down(n + 1)

try:
    down(0)
except RecursionError as error:
    print(type(error).__name__, isinstance(error, RuntimeError))
