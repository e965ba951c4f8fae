// attack: type arguments that open and never close, so that the parser reads on from each
// property: S31
// timeout_ms: 5000
// build: [["let x: ", 1], ["a<b,", 400], ["c", 1]]
// expect: error syntax
