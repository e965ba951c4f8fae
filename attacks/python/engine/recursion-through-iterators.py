# attack: chains iterators a million deep, which the interpreter follows by its own stack
# property: S24
# timeout_ms: 5000
# expect: contained
import itertools

chain = iter([1])
for _ in range(500_000):
    chain = itertools.chain(chain)
return list(chain)
