// attack: poisons prototypes, `JSON.parse` and `Promise` for the next program
// property: S12
// expect: value "left"
(Object.prototype as any).poisoned = 1;
(Array.prototype as any).poisoned = 1;
const keep = { s: JSON.stringify };
JSON.parse = () => "poisoned" as any;
Promise.prototype.then = function () { return "poisoned" as any; };
(Function.prototype as any).call = () => "poisoned";
String.prototype.split = () => ["poisoned"];
Map.prototype.get = () => "poisoned";
Object.freeze = ((o: unknown) => o) as any;
return "left";
