// attack: thousands of regular expressions that a parser of TypeScript must check one by one
// property: S31
// timeout_ms: 10000
// build: [["0;", 1], ["/(((((a)*)*)*)*)*/u.x;", 8000], ["return 1", 1]]
// expect: value 1
