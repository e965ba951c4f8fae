// attack: halves of characters in values, keys, arguments, names, printed text and stores, where UTF-8 has no form for them
// property: S25
// stdout: a�b
// expect: value ["a�b", {"k�": 1}, "{\"t\":\"�\"}", "�", 3]
console.log("a\ud800b");
await store.set("surrogate", "\udfff");
const echoed = (await tools.probe.echo({ t: "\ud800" })).text;
const kept = await store.get("surrogate");
return ["a\udc00b", { "k\ud800": 1 }, echoed, kept, "\ud83d".length + "\ude00\ud83d".length];
