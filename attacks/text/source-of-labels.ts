// attack: labels and `else if` that nest without brackets
// property: S24
// timeout_ms: 10000
// build: [["if (a) b; else ", 15000], ["c", 1]]
// expect: error syntax|stack_limit|exception|timeout
