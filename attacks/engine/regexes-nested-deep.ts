// attack: expressions nested so deep that their compiler recurses, and ones that never match what they should
// property: S24
// timeout_ms: 20000
// expect: value "held"
for (const source of ["(".repeat(100_000), "(?:".repeat(50_000) + "a" + ")".repeat(50_000), "[".repeat(100_000), "(?=".repeat(30_000) + ")".repeat(30_000), "(?<n>a)".repeat(10_000), "a{2147483647}", "a{0,4294967296}", "\\u{110000}", "(?<a>.)(?<a>.)", "[\\p{L}--[a-z]]", "a".repeat(1_000_000), "(a|".repeat(20_000)]) {
  for (const flags of ["", "u", "v", "i"]) {
    try { new RegExp(source, flags).exec("a".repeat(100)); } catch (e) { if (!(e instanceof SyntaxError) && !(e instanceof RangeError) && e.name !== "InternalError") throw e; }
  }
}
return "held";
