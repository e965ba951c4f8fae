// value: [{"a":1},{"b":2}]
const server = "test";
return [await tools[server]["echo"]({ a: 1 }), await tools.test["echo"]({ b: 2 })];
