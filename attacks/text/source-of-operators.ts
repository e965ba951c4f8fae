// attack: prefix operators that nest without brackets, as many as a source has room for
// property: S24
// timeout_ms: 10000
// build: [["return ", 1], ["!", 200000], ["0", 1]]
// expect: value false
