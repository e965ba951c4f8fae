// attack: line ends that only some parsers know, to hide code in what looks like a comment
// property: S31
// build: [["let seen = 0;\n// comment\u2028seen += 1;\n// comment\u2029seen += 1;\n// comment\rseen += 1;\n// comment\u0085seen += 100;\nreturn seen;", 1]]
// expect: value 3
