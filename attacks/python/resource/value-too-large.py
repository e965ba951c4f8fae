# attack: returns a value far above its bound
# property: S25
# timeout_ms: 10000
# expect: error output_limit
return "x" * (20 << 20)
