// attack: calls tools with `new`, with foreign receivers, with arguments that are not objects and too many of them
// property: S28
// expect: value []
const call = tools.probe.echo as any;
const sent: string[] = [];
const refused = async (name: string, f: () => unknown) => { try { await f(); sent.push(name); } catch {} };
await refused("two", () => call({}, {}));
await refused("text", () => call("x"));
await refused("list", () => call([]));
await refused("null", () => call(null));
await refused("function", () => call(() => 0));
await refused("new", () => new call({}));
await refused("number", () => Reflect.apply(call, null, [1]));
await refused("toJSON gives a list", () => call({ toJSON: () => [1] }));
await refused("toJSON gives text", () => call({ toJSON: () => '{"a":1}' }));
await refused("toJSON gives nothing", () => tools.shop.list_customers({ toJSON: () => "x" } as any));
return sent;
