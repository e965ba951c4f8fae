# A money class with arithmetic, comparison, formatting, hashing and containment.
from functools import total_ordering
from decimal import Decimal

@total_ordering
class Money:
    __slots__ = ("amount", "currency")

    def __init__(self, amount, currency="EUR"):
        self.amount = Decimal(str(amount))
        self.currency = currency

    def _same(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        if other.currency != self.currency:
            raise ValueError(f"{self.currency} and {other.currency}")
        return True

    def __add__(self, other):
        if other == 0:
            return self
        self._same(other)
        return Money(self.amount + other.amount, self.currency)

    __radd__ = __add__

    def __mul__(self, factor):
        return Money(self.amount * factor, self.currency)

    def __eq__(self, other):
        return isinstance(other, Money) and (self.amount, self.currency) == (other.amount, other.currency)

    def __lt__(self, other):
        self._same(other)
        return self.amount < other.amount

    def __hash__(self):
        return hash((self.amount, self.currency))

    def __repr__(self):
        return f"Money({self.amount}, {self.currency!r})"

    def __format__(self, spec):
        return f"{self.amount:{spec or ',.2f'}} {self.currency}"

    def __bool__(self):
        return bool(self.amount)

order = tools.shop.list_orders(customer="acme")["orders"][0]
total = sum(Money(line["unit_price"]) * line["qty"] for line in order["lines"])
print(total, f"{total}", f"{total:.0f}", total > Money(5), bool(Money(0)), len({Money(1), Money("1.0")}))
for wrong in (lambda: Money(1) + Money(1, "USD"), lambda: setattr(Money(1), "extra", 1)):
    try:
        wrong()
    except (ValueError, AttributeError) as e:
        print(type(e).__name__)
