# attack: loads broken marshal data, which is trusted by the interpreter
# property: S16
# timeout_ms: 3000
# expect: contained
import marshal
import random

random.seed(3)
whole = marshal.dumps([compile("def f(a, *b, c=1): return [a, {c: b}]", "x", "exec"), {"a": (1, 2.5, b"x")}, 2**200, frozenset([1])])
for _ in range(3_000):
    broken = bytearray(whole)
    for _ in range(random.randrange(1, 6)):
        broken[random.randrange(len(broken))] = random.randrange(256)
    try:
        marshal.loads(bytes(broken[: random.randrange(1, len(broken) + 1)]))
    except BaseException:
        pass
for bomb in [b"[" + b"\xff\xff\xff\x7f", b"(" + b"\xff\xff\xff\x7f", b"s\xff\xff\xff\x7f", b"l\xff\xff\xff\x7f", b"[\1\0\0\0" * 10_000]:
    try:
        marshal.loads(bomb)
    except BaseException:
        pass
return "held"
