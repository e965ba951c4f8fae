# attack: returns a value nested deeper than a recursive writer or reader can follow
# property: S24
# timeout_ms: 5000
# expect: error exception|output_limit|stack_limit
value = []
for _ in range(100_000):
    value = [value]
return value
