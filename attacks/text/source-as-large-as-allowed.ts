// attack: a source of exactly the greatest size, all of it one expression
// property: S31
// timeout_ms: 10000
// build: [["return 0", 1], ["+1", 131068]]
// expect: value 131068
