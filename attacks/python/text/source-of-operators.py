# attack: a hundred thousand signs before one number
# property: S24
# timeout_ms: 5000
# build: [["return ", 1], ["-", 100000], ["1", 1]]
# expect: error syntax|stack_limit|memory_limit
