# attack: a hundred thousand open brackets
# property: S24
# build: [["(", 100000]]
# expect: error syntax
