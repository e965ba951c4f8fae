# attack: returns from classes, comprehensions, deleted and redefined functions and finally blocks at the top level
# property: S06
# build: [["class C:\n    return 1\n", 1]]
# expect: error syntax
