// attack: puts `Symbol.split`, `Symbol.replace`, `Symbol.match` and `Symbol.toPrimitive` on strings, to run inside the prelude's text handling
// property: S07
// expect: value ["unknown_tool", 0]
let trapped = 0;
const spy = function () { trapped += 1; return []; };
for (const symbol of [Symbol.split, Symbol.replace, Symbol.match, Symbol.matchAll, Symbol.search, Symbol.toPrimitive]) {
  Object.defineProperty(String.prototype, symbol, { value: spy, configurable: true });
}
RegExp.prototype.exec = spy as any;
RegExp.prototype[Symbol.split] = spy as any;
RegExp.prototype[Symbol.replace] = spy as any;
let code;
try { await tools.probe.nothing({}); } catch (e) { code = e.code; }
console.log("a\nb");
console.group();
console.log("a\nb");
await search("list customers");
return [code, trapped];
