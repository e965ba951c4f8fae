# A pivot table of SQL rows with totals.
rows = tools.database.query(sql="select c.country, o.currency, o.total from orders o join customers c on c.id = o.customer_id")["rows"]
pivot = {}
for country, currency, total in rows:
    pivot.setdefault(country, {}).setdefault(currency, []).append(float(total))
currencies = sorted({c for row in pivot.values() for c in row})
print(f"{'':<4}" + "".join(f"{c:>10}" for c in currencies) + f"{'all':>10}")
for country in sorted(pivot):
    sums = [sum(pivot[country].get(c, [])) for c in currencies]
    print(f"{country:<4}" + "".join(f"{s:>10.2f}" if s else f"{'-':>10}" for s in sums) + f"{sum(sums):>10.2f}")
