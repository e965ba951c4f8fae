# A cellular automaton, for plain computation without any call.
def step(cells):
    from collections import Counter
    around = Counter((r + dr, c + dc) for r, c in cells for dr in (-1, 0, 1) for dc in (-1, 0, 1) if dr or dc)
    return {cell for cell, n in around.items() if n == 3 or n == 2 and cell in cells}

def show(cells, size=6):
    return "\n".join("".join("#" if (r, c) in cells else "." for c in range(size)) for r in range(size))

glider = {(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)}
for _ in range(4):
    glider = step(glider)
print(show(glider))
sieve = [True] * 50
for n in range(2, 8):
    if sieve[n]:
        sieve[n * n::n] = [False] * len(sieve[n * n::n])
[n for n in range(2, 50) if sieve[n]]
