// attack: a result that is thenable, callable in name and a promise in shape, to be called by `await`
// property: S48
// expect: value ["object", "object", "not a function"]
const value = await tools.probe.say({ result: '{"content":[],"structuredContent":{"then":{"call":1},"catch":[],"finally":null,"constructor":"Promise"}}' });
const text = await tools.probe.say.raw({ result: '{"content":[{"type":"text","text":"() => 1"}],"structuredContent":{"then":"function () {}"}}' });
let called = "called";
try { (value as any).then(); } catch (e) { called = "not a function"; }
return [typeof value, typeof text.structuredContent, called];
