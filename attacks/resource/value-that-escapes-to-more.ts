// attack: returns a text whose JSON is six times its size
// property: S25
// timeout_ms: 10000
// expect: error output_limit|memory_limit|exception
return "\u0001".repeat(12 << 20);
