// attack: prints lines of a megabyte, wide tables and deep objects
// property: S25
// timeout_ms: 20000
// warning: left out
// expect: value "printed"
const long = "x".repeat(1 << 20);
for (let i = 0; i < 20; i++) console.error(long, { long });
console.table(Array.from({ length: 300 }, (_, i) => ({ [`column ${i}`]: long })));
for (let i = 0; i < 1000; i++) console.group(long);
for (let i = 0; i < 2000; i++) { console.count(`counter ${i}`); console.time(`timer ${i}`); }
return "printed";
