# Money with decimal: discounts, rounding, contexts.
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_DOWN, Decimal, InvalidOperation, getcontext, localcontext

CENT = Decimal("0.01")
for order in tools.shop.list_orders()["orders"]:
    net = sum((Decimal(l["unit_price"]) * l["qty"] for l in order["lines"]), Decimal())
    if order["discount"]:
        net -= net * Decimal(order["discount"])
    places = Decimal(1) if order["currency"] == "JPY" else CENT
    vat = (net * Decimal("0.19")).quantize(places, ROUND_HALF_UP)
    print(order["order_id"], net.quantize(places), vat, (net + vat).quantize(places), order["currency"])
print(Decimal("0.1") + Decimal("0.2"), Decimal(0.1), Decimal("2.675").quantize(CENT, ROUND_HALF_EVEN), Decimal("-1.999").quantize(CENT, ROUND_DOWN))
with localcontext() as context:
    context.prec = 5
    print(Decimal(1) / 3, getcontext().prec)
print(Decimal("1E+3"), Decimal("1E+3").normalize(), f"{Decimal('1234567.891'):,.2f}", Decimal("NaN").is_nan(), Decimal("7").as_tuple())
try:
    Decimal("12,5")
except InvalidOperation as e:
    print(type(e).__name__)
