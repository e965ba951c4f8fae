// attack: spreads more arguments than a stack has room for
// property: S24
// expect: value ["RangeError", "RangeError", "RangeError"]
const many = new Array(5_000_000).fill(0);
const names: string[] = [];
for (const f of [() => Math.max(...many), () => String.fromCharCode.apply(null, many), () => Reflect.construct(Array, many)]) {
  try { f(); names.push("went through"); } catch (e) { names.push(e.name); }
}
return names;
