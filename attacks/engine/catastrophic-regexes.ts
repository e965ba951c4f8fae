// attack: an expression that takes time exponential in the text
// property: S21
// timeout_ms: 600
// expect: error timeout
return /^(a+)+$/.test("a".repeat(40) + "b");
