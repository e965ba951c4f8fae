// attack: throws values that are not errors and resists description: a revoked proxy inside an object that throws when read
// property: S34
// expect: error exception
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
throw { get message() { throw proxy; }, get name() { throw proxy; }, get stack() { throw proxy; }, toString() { throw proxy; }, proxy };
