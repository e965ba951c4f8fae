# attack: a source with NUL, where a reader in C stops
# property: S31
# build: [["x = 1\n", 1], ["\u0000", 1], ["\nreturn 2", 1]]
# expect: error syntax
