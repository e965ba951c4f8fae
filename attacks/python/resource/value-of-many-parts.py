# attack: returns a value of millions of parts, small in memory because they are all the same
# property: S25
# timeout_ms: 10000
# expect: error output_limit|memory_limit
row = ["x" * 100] * 1_000
return [row] * 10_000
