// attack: leaves an unhandled rejection that cannot be printed behind a throw, so that the report of the end fails and names a false reason
// property: S38
// expect: error exception
// message: the true reason
const trap: any = new Proxy({}, {
  ownKeys() { throw { get message(): string { throw trap; } }; },
  getPrototypeOf() { throw { get message(): string { throw trap; } }; },
  get() { throw { get message(): string { throw trap; } }; },
});
Promise.reject(trap);
throw new Error("the true reason");
