# attack: a source that a reader sees in another order than the interpreter
# property: S31
# build: [["admin = False\nif admin: # \u202e \u2066 not\n    return 'forged'\nreturn 'held' #\u2066\u2069", 1]]
# expect: value "held"
