// attack: passes functions, symbols, proxies, promises, getters and class instances as arguments, hoping that something live crosses
// property: S07
// expect: value "{\"proxy\":{\"p\":1},\"promise\":1,\"getter\":7,\"instance\":{\"own\":1},\"date\":\"1970-01-01T00:00:00.000Z\",\"list\":[null,null,null],\"boxed\":3,\"typed\":{\"0\":5},\"weak\":{},\"nan\":null}"
class Thing { own = 1; #secret = 2; get inherited() { return this.#secret; } }
return (await tools.probe.echo({
  f() {}, symbol: Symbol("x"), [Symbol("key")]: 1, undefined,
  proxy: new Proxy({ p: 1 }, {}), promise: Promise.resolve(1), get getter() { return 7; },
  instance: new Thing(), date: new Date(0), list: [() => 0, Symbol("y"), undefined], boxed: Object(3),
  typed: new Uint8Array([5]), weak: new WeakMap(), nan: NaN,
} as any)).text;
