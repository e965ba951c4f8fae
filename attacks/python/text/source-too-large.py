# attack: a source of 300 KB
# property: S31
# build: [["# ", 1], ["x", 300000], ["\nreturn 1", 1]]
# expect: error request
