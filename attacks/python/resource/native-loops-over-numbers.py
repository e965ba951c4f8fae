# attack: sums a range without end inside the interpreter's own code
# property: S21
# timeout_ms: 700
# expect: error timeout
return sum(range(10**15))
