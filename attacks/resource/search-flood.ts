// attack: searches with queries of every size and shape that costs an index, many at once
// property: S35
// timeout_ms: 10000
// expect: value "answered"
const queries = ["", "*", "a ".repeat(500), "(".repeat(1000), "a".repeat(1000), "\u0000", "é".repeat(400), "customers ".repeat(90), ".*".repeat(400)];
await Promise.allSettled(Array.from({ length: 200 }, (_, i) => search(queries[i % queries.length], { limit: 1e9 })));
return "answered";
