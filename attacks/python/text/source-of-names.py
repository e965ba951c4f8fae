# attack: as many different names and assignments as fit
# property: S31
# timeout_ms: 5000
# build: [["a = b = c = d = 1\n", 14000], ["return a", 1]]
# expect: value 1
