// attack: puts setters for the names the prelude uses on `Object.prototype`, to be handed its values when it fills in objects
// property: S07
// expect: value []
const caught: string[] = [];
const names = ["id", "op", "head", "body", "server", "tool", "form", "key", "resolve", "reject", "stack", "callback", "us", "args", "native",
  "code", "hint", "cause", "errors", "label", "names", "detail", "query", "toolCount", "timer", "repeats"];
for (const name of names) {
  Object.defineProperty(Object.prototype, name, {
    configurable: true,
    get() { return undefined; },
    set(value) { caught[caught.length] = `${name}: ${typeof value}`; },
  });
}
await tools.probe.echo({ n: 1 });
try { await tools.probe.nothing({}); } catch {}
await search("customers");
await describe("probe", "echo");
await store.set("setter", 1);
await store.get("setter");
await new Promise<void>((resolve) => setTimeout(resolve, 1));
const kept = caught.slice();
for (const name of names) delete (Object.prototype as any)[name];
return kept;
