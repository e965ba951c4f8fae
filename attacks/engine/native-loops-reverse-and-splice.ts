// attack: reverses, shifts and splices what has no end
// property: S21
// timeout_ms: 600
// expect: error timeout|memory_limit
const o = new Proxy({ length: 2 ** 53 - 1 }, { get: (t: any, k) => (k === "length" ? t.length : 1), set: () => true, has: () => true, deleteProperty: () => true });
Array.prototype.reverse.call(o);
