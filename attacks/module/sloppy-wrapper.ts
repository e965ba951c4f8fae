// attack: directives, `with` and octal numbers, to make the program sloppy and reach the global object as `this`
// property: S06
// expect: value ["undefined", "undefined", "TypeError"]
const f = function (this: unknown) { return typeof this; };
let name = "none";
try { (Object.freeze({ x: 1 }) as any).x = 2; } catch (e) { name = e.name; }
return [f(), (function (this: unknown) { "not strict"; return typeof this; })(), name];
