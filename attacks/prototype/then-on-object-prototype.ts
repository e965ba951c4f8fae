// attack: makes every object a thenable, so that results of calls and the value at the end run code of the program when they settle
// property: S07
// expect: value {"text": "kept"}
let calls = 0;
Object.defineProperty(Object.prototype, "then", {
  configurable: true,
  get() { calls += 1; return calls > 500 ? undefined : function (this: unknown, resolve: (v: unknown) => void) { resolve("replaced"); }; },
});
const got = await tools.probe.echo({ n: 1 });
delete (Object.prototype as any).then;
return { text: typeof got === "string" ? "kept" : "the engine ignored a thenable" };
