// attack: input with `__proto__` and `constructor` keys
// property: S48
// input: {"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 2}}}
// expect: value [true, null, null]
const own = Object.hasOwn(input as object, "__proto__") && Object.getPrototypeOf(input) === Object.prototype;
return [own, ({} as any).polluted, (input as any).polluted];
