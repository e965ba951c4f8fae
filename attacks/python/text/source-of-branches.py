# attack: one condition with ten thousand other conditions, each inside of the one before
# property: S24
# timeout_ms: 5000
# build: [["if 0:\n pass\n", 1], ["elif 0:\n pass\n", 15000]]
# expect: contained
