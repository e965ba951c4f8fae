# attack: closes the function that a program may be put into, to run outside of it
# property: S06
# build: [["    return 1\n\nescaped = True\nasync def __main__():\n  pass\n", 1]]
# expect: error syntax
