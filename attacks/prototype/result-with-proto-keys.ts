// attack: a tool's result with `__proto__` and `constructor.prototype` keys, to pollute objects when it is parsed, unwrapped or cloned
// property: S48
// expect: value ["own", "own", null, null, null]
const json = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"list":[{"__proto__":{"polluted":3}}]}';
const value = await tools.probe.say({ result: `{"content":[],"structuredContent":${json}}` });
const raw = await tools.probe.say.raw({ result: `{"content":[{"type":"text","text":${JSON.stringify(json)}}],"structuredContent":${json}}` });
const unwrapped = await callMCPTool("mcp__probe__say", { result: `{"content":[{"type":"text","text":${JSON.stringify(json)}}]}` });
const own = (o: object) => (Object.hasOwn(o, "__proto__") && Object.getPrototypeOf(o) === Object.prototype ? "own" : "inherited");
const clone = structuredClone(value);
return [own(value), own(unwrapped as object), ({} as any).polluted, ([] as any).polluted, own(clone) === "own" && own(raw.structuredContent) === "own" ? undefined : "a copy inherits"];
