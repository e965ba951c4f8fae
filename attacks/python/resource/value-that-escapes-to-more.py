# attack: returns a text whose JSON form is six times as long
# property: S25
# timeout_ms: 10000
# expect: error output_limit
return "\0" * (4 << 20)
