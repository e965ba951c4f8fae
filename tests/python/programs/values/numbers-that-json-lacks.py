# Decimals, fractions, complex numbers, not-a-number, and integers of more than 64 bits.
from decimal import Decimal
from fractions import Fraction

[Decimal("19.90"), Fraction(1, 3), 1 + 2j, float("nan"), float("-inf"), 2**63, 2**64, -(2**70), 10**30]
