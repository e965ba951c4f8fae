// attack: puts `get`, `set` and `value` on `Object.prototype`, which every property descriptor inherits, to break or divert the prelude
// property: S07
// expect: value ["{\"n\":1}", "unknown_tool", "tool_failed", 0]
let trapped = 0;
const spy = () => { trapped += 1; return undefined; };
const put = (key: string, value: unknown) => { (Object.prototype as any)[key] = value; };
put("get", spy);
put("set", spy);
const out: unknown[] = [];
out[0] = (await tools.probe.echo({ n: 1 })).text;
try { await tools.probe.nothing({}); } catch (e) { out[1] = e.code ?? e.message; }
try { await tools.probe.fail({ message: "x" }); } catch (e) { out[2] = e.code ?? e.message; }
out[3] = trapped;
delete (Object.prototype as any).get;
delete (Object.prototype as any).set;
return out;
