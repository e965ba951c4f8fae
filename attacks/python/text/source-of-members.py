# attack: thirty thousand members of members
# property: S24
# timeout_ms: 5000
# build: [["return x", 1], [".x", 30000]]
# expect: error syntax|stack_limit|memory_limit|exception
