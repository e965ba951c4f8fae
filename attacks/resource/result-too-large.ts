// attack: has a server send a result above the bound of one call
// property: S28
// timeout_ms: 20000
// expect: value "held"
const part = "x".repeat(1 << 20);
const result = `{"content":[],"structuredContent":{"text":"${part}"}}`;
const { text } = await tools.probe.say({ result }) as any;
return text.length === part.length ? "held" : "cut";
