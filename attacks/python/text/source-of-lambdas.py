# attack: functions in functions, ten thousand deep
# property: S24
# timeout_ms: 5000
# build: [["f = ", 1], ["lambda:", 30000], ["0", 1]]
# expect: error syntax|stack_limit|memory_limit
