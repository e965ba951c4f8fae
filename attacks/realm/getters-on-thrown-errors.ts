// attack: throws an error whose every property is code, to run it in the place where the gateway describes errors
// property: S06
// expect: error exception
// message: my own words
const seen: string[] = [];
const error = new Proxy(new Error("x"), {
  get(target, key) {
    if (typeof key === "string") seen.push(key);
    if (key === "message") return "my own words";
    if (key === "name") return "Forged";
    if (key === "stack") return "at x (limbeck:1:1)\n at y (/root/.cargo/registry:2:2)";
    return Reflect.get(target, key);
  },
  getPrototypeOf: () => Error.prototype,
});
throw error;
