# Splits an amount without losing a cent, with the largest remainder.
from decimal import Decimal
from fractions import Fraction

def split(total, weights):
    cents = int(Decimal(total) * 100)
    exact = [Fraction(cents * w, sum(weights)) for w in weights]
    parts = [int(x) for x in exact]
    by_rest = sorted(range(len(parts)), key=lambda n: exact[n] - parts[n], reverse=True)
    for n in by_rest[: cents - sum(parts)]:
        parts[n] += 1
    return [Decimal(p) / 100 for p in parts]

print([str(p) for p in split("100.00", [1, 1, 1])])
print([str(p) for p in split("0.05", [5, 3, 2])], sum(split("19.99", [7, 2, 4, 9])))
