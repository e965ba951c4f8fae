# attack: bytecode of random bytes, thousands of times over
# property: S34
# timeout_ms: 2000
# expect: contained
import random

random.seed(7)
for _ in range(20_000):
    code = random.randbytes(2 * random.randrange(1, 40))
    try:
        exec((lambda x=1: [x, x]).__code__.replace(co_code=code, co_flags=random.getrandbits(9), co_exceptiontable=random.randbytes(4)))
    except BaseException:
        pass
return "held"
