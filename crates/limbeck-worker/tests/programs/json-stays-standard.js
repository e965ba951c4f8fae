// value: ["{}","{}","{}",true]
// The additions to JSON are for what leaves the program; its own JSON is the standard's.
let refused = false;
try {
  JSON.stringify(1n);
} catch {
  refused = true;
}
return [JSON.stringify(new Map([["a", 1]])), JSON.stringify(new Set([1])), JSON.stringify(new Error("x")), refused];
