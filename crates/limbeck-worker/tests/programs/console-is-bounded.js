// value: true
// The printed text is at most about 32 KiB for each value that is not a string, however large or deep the value is.
const wide = Array.from({ length: 100000 }, (_, i) => ({ i, text: "x".repeat(50) }));
let deep = {};
for (let i = 0; i < 100000; i++) deep = { deep };
console.log(wide);
console.log(deep);
console.log({ text: "y".repeat(1000000) });
return true;
