# attack: raises an error whose message, name and notes are megabytes
# property: S25
# timeout_ms: 5000
# expect: error exception
# message: yyyy
error = type("N" * 10_000, (ValueError,), {})("y" * (8 << 20))
error.add_note("n" * (8 << 20))
raise error
