// value: {"order":["immediate","timeout 1","timeout 5 a","timeout 5 b","timeout 20"],"elapsed":20}
const order = [];
const start = Date.now();
setTimeout(() => order.push("timeout 5 a"), 5);
setTimeout((name) => order.push(name), 20, "timeout 20");
setTimeout(() => order.push("timeout 5 b"), 5);
setTimeout(() => order.push("timeout 1"));
setImmediate(() => order.push("immediate"));
clearTimeout(setTimeout(() => order.push("never"), 3));
await new Promise((resolve) => setTimeout(resolve, 20));
return { order, elapsed: Date.now() - start };
