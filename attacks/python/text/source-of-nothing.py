# attack: sources of only comments, spaces and continued lines
# property: S31
# build: [["# x\n \n\t\n", 1000], ["\\\n", 1000]]
# expect: contained
