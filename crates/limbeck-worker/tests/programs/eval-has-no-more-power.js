// value: [3,"undefined",true]
const inner = new Function("return typeof native");
return [eval("1 + 2"), inner(), new Function("return globalThis")() === globalThis];
