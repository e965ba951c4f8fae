// value: ["a","a then","b"]
const order = [];
setTimeout(() => {
  order.push("a");
  queueMicrotask(() => order.push("a then"));
}, 5);
setTimeout(() => order.push("b"), 5);
await new Promise((resolve) => setTimeout(resolve, 6));
return order;
