// attack: keys and values of the store that name prototypes and that end as another type than they began
// property: S12
// expect: value "left"
for (const key of ["__proto__", "constructor", "toString", "'; DROP TABLE kv; --", "a%00b", "../../escape", "*", "%"]) await store.set(key, { __proto__: null, of: key });
await store.set("json", '{"__proto__":{"polluted":1}}');
return "left";
