// attack: throws from `toJSON` in the middle of a call, then calls again, hoping for a half-made request or a wrong mode of encoding
// property: S54
// expect: value ["mine", "{\"next\":1}", "{}"]
let thrown;
try { await tools.probe.echo({ a: 1, b: { toJSON() { throw "mine"; } } } as any); } catch (e) { thrown = e; }
const next = await tools.probe.echo({ next: 1 });
return [thrown, next.text, JSON.stringify(new Map([[1, 2]]))];
