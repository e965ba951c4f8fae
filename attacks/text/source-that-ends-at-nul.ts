// attack: a NUL in the place of a token, so that one parser sees another program than the next
// property: S31
// build: [["return 'first';\u0000 return 'second';", 1]]
// expect: error syntax
