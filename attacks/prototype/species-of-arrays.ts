// attack: replaces the constructor and species of arrays, so that lists of the prelude are made by the program
// property: S07
// expect: value ["{\"n\":1}", 0]
let trapped = 0;
class Spy extends Array { constructor(...args: any[]) { super(...args); trapped += 1; } static get [Symbol.species]() { trapped += 1; return Spy; } }
const { constructor } = Array.prototype;
Array.prototype.constructor = Spy as any;
const { text } = await tools.probe.echo({ n: 1 });
Object.keys(tools);
"shop" in tools;
console.log([1, 2], { a: 1 });
Array.prototype.constructor = constructor;
return [text, trapped];
