# attack: raises a group of a hundred thousand errors with long texts
# property: S25
# timeout_ms: 10000
# expect: error exception
raise ExceptionGroup("many", [ValueError("x" * 200) for _ in range(100_000)])
