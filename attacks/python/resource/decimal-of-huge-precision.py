# attack: decimals with the greatest precision there is
# property: S23
# timeout_ms: 1000
# expect: error timeout|memory_limit
import decimal

decimal.getcontext().prec = decimal.MAX_PREC
while True:
    try:
        str(decimal.Decimal(2).sqrt() + decimal.Decimal(10) ** 10**8)
    except decimal.DecimalException:
        pass
