// attack: a match that needs a stack as long as the text
// property: S24
// timeout_ms: 20000
// expect: value "held"
for (const [r, text] of [[/^(?:a|b)*c/, "ab".repeat(1_000_000)], [/^(.)*\1$/s, "x".repeat(100_000)], [/^(?:(?:x)|y)*$/, "x".repeat(2_000_000)]] as [RegExp, string][]) {
  try { r.exec(text); } catch (e) { if (!(e instanceof RangeError) && e.name !== "InternalError") throw e; }
}
return "held";
