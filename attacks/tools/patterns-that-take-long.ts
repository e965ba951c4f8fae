// attack: patterns that cost a naive matcher exponential time
// property: S21
// timeout_ms: 20000
// tools: ["*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "***************************************************x"]
// expect: value "denied"
try { await tools.shop.list_customers({}); return "sent"; } catch (e) { return e.code; }
