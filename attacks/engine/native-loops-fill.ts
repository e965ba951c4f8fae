// attack: fills an object of the greatest length
// property: S21
// timeout_ms: 600
// expect: error timeout|memory_limit
Array.prototype.fill.call(new Proxy({ length: 2 ** 53 - 1 }, { set: () => true }), 0);
