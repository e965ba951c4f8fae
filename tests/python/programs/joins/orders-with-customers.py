# Joins two SQL results by key and sums per customer.
customers = await tools.database.query(sql="select id, name, country from customers")
orders = await tools.database.query(sql="select customer_id, total, currency from orders")

by_id = {row[0]: {"name": row[1], "country": row[2]} for row in customers["rows"]}
totals = {}
for customer_id, total, currency in orders["rows"]:
    key = (customer_id, currency)
    totals[key] = totals.get(key, 0.0) + float(total)

report = [
    {"customer": by_id[cid]["name"], "country": by_id[cid]["country"] or "unknown", "currency": cur, "total": round(amount, 2)}
    for (cid, cur), amount in sorted(totals.items())
]
print(f"{len(report)} lines for {len(by_id)} customers")
report
