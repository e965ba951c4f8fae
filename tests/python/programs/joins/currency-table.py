# A matrix of exchange rates, each pair asked once.
from itertools import combinations

codes = ["EUR", "USD", "GBP", "JPY"]
rates = {(c, c): 1.0 for c in codes}
for a, b in combinations(codes, 2):
    rate = tools.shop.exchange_rate(base=a, quote=b)["rate"]
    rates[a, b] = rate
    rates[b, a] = 1 / rate

header = "      " + "".join(f"{c:>12}" for c in codes)
print(header)
for a in codes:
    print(f"{a:<6}" + "".join(f"{rates[a, b]:>12.4f}" for b in codes))
