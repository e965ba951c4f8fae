// attack: labels, `break` and `return` out of blocks that look like functions
// property: S06
// expect: value "inner"
outer: { inner: for (;;) { break outer; } }
a: b: c: for (const x of [1]) { try { continue c; } finally { break a; } }
try { return "inner"; } finally { label: { break label; } }
