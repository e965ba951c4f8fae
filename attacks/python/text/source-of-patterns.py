# attack: a match whose patterns are deep and wide
# property: S24
# timeout_ms: 5000
# build: [["match 1:\n case ", 1], ["[", 500], ["]", 500], [": pass\n case ", 1], ["1|", 20000], ["1: pass", 1]]
# expect: contained
