// attack: replaces `Promise`, `then`, `resolve` and the species of promises, to be called by the code that settles calls
// property: S07
// expect: value ["{\"n\":1}", 0]
let trapped = 0;
const spy = function () { trapped += 1; return this; };
const { then } = Promise.prototype;
for (const name of ["then", "catch", "finally"]) (Promise.prototype as any)[name] = spy;
for (const name of ["resolve", "reject", "all", "race", "withResolvers", "try"]) (Promise as any)[name] = spy;
Object.defineProperty(Promise, Symbol.species, { get: spy, configurable: true });
Object.defineProperty(globalThis, "Promise", { value: spy });
const { text } = await tools.probe.echo({ n: 1 });
Promise.prototype.then = then;
return [text, trapped];
