// attack: replaces every letter of a megabyte by a megabyte, where the failed text goes on being built
// property: S21
// timeout_ms: 800
// expect: error timeout|memory_limit|exception
const long = "x".repeat(1 << 20);
return long.replaceAll("x", long).length;
