# Which orders can be sent, from orders and one product call per distinct SKU, gathered.
import asyncio

orders = (await tools.shop.list_orders())["orders"]
skus = sorted({line["sku"] for order in orders for line in order["lines"]})
products = dict(zip(skus, await asyncio.gather(*(tools.shop.get_product(sku=s) for s in skus))))

status = {}
for order in orders:
    missing = [line["sku"] for line in order["lines"] if products[line["sku"]]["stock"] < line["qty"]]
    status[order["order_id"]] = "empty" if not order["lines"] else ("backorder: " + ", ".join(missing) if missing else "ready")
weight = sum(products[l["sku"]]["weight_kg"] * l["qty"] for o in orders for l in o["lines"])
{"status": status, "weight": round(weight, 3)}
