// attack: leaves an unhandled rejection that cannot be printed behind a returned value, so that the value is lost
// property: S38
// expect: value "arrived"
const trap: any = new Proxy({}, {
  ownKeys() { throw { get message(): string { throw trap; } }; },
  getPrototypeOf() { throw { get message(): string { throw trap; } }; },
  get() { throw { get message(): string { throw trap; } }; },
});
Promise.reject(trap);
await null;
return "arrived";
