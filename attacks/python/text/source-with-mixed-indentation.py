# attack: a source whose blocks depend on how wide a tab is
# property: S31
# build: [["if False:\n        x = 1\n\tx = 2\nreturn 'forged'", 1]]
# expect: error syntax
