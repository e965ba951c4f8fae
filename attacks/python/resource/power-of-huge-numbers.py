# attack: computes a power whose digits would fill any memory
# property: S21
# timeout_ms: 1000
# expect: error timeout|memory_limit
return 9 ** (9**9) % 2
