# control: a long loop inside the interpreter's own code does end when it has time
# property: S21
# timeout_ms: 10000
# expect: value 499999500000
return sum(range(1_000_000))
