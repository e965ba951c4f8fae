// attack: fifty thousand declarations, closures and a class with as many members
// property: S31
// timeout_ms: 10000
// build: [["let a;", 1], ["{let b=()=>b;}", 17000], ["return 1", 1]]
// expect: value 1
