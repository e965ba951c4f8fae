# attack: a sum of thirty thousand numbers, nested to one side in the tree of the parser
# property: S24
# timeout_ms: 5000
# build: [["return 0", 1], ["+x", 30000]]
# expect: error syntax|stack_limit|memory_limit|exception
