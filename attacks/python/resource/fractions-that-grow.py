# attack: numbers whose exact form doubles with every step
# property: S21
# timeout_ms: 1000
# expect: error timeout|memory_limit
import fractions

number = fractions.Fraction(3, 7)
while True:
    number = number * number + fractions.Fraction(1, 3)
