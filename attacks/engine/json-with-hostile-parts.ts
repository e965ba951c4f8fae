// attack: revivers, replacers, indents and duplicate keys that change what is being parsed or written
// property: S16
// timeout_ms: 20000
// expect: value "held"
const list: any[] = [1, 2, { a: [3] }];
JSON.parse("[1,2,[3,4],{\"a\":1}]", function (key, value) { if (Array.isArray(this)) this.length = 0; delete (this as any).a; return value; });
JSON.stringify(list, function (key, value) { list.length = 0; list.push(list); return typeof value === "object" && key === "" ? [1, 2, 3] : 1; });
try { JSON.stringify({ a: 1 }, new Array(100_000).fill("a"), "          "); } catch {}
const o: any = { a: { toJSON() { delete o.b; o.c = o; return 1; } }, b: { x: 1 } };
try { JSON.stringify(o); } catch {}
JSON.parse(`{${'"a":1,'.repeat(100_000)}"a":2}`);
JSON.parse("[" + "1,".repeat(500_000) + "1]");
try { JSON.parse("[".repeat(1_000_000)); } catch {}
try { JSON.parse('{"a":'.repeat(100_000)); } catch {}
return "held";
