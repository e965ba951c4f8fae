# Big integers, fractions, complex numbers, rounding, bases, infinities.
import cmath
import math
from fractions import Fraction

numbers = tools.shapes.numbers()
print(2 ** 200, numbers["big"] + 1, numbers["bigger"] ** 2, math.factorial(25), pow(3, 1000, 97))
print(Fraction(1, 3) + Fraction("0.25"), Fraction(3.5), Fraction(22, 7).limit_denominator(5), (1 + 2j) * (3 - 1j), abs(3 + 4j), cmath.sqrt(-4))
print(round(2.5), round(3.5), round(2.675, 2), round(1234, -2), math.floor(-1.5), math.ceil(1.2), int(-1.9), math.trunc(1.9), -7 // 2)
print(int("ff", 16), int("0b101", 0), hex(255), oct(8), bin(5), 1_000_000, 0x10, 1e3, 5 / 2, 6 / 3, 7 % 3, divmod(7, -2))
print(float("inf") > 10 ** 400, math.nan == math.nan, math.isinf(-math.inf), 0.1 + 0.2, 1e16 + 1, numbers["float"].as_integer_ratio()[1] == 2 ** 55)
print(numbers["tiny"] * numbers["tiny"], numbers["huge"], -0.0 == 0, (0.5).hex(), True + True, sum([0.1] * 3), math.log10(1000), math.isqrt(99))
print((12345).bit_length(), float.fromhex("0x1.8p1"), (7.0).is_integer(), complex("1+2j").imag, len(str(7 ** 500)))
