// attack: the closing comment of HTML at the start of a line, which is code in modules and a comment in scripts
// property: S31
// build: [["let x = 3;\nconst y = x\n--> 0;\nreturn y;", 1]]
// expect: value 3
