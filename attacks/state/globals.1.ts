// attack: leaves globals, by name, by symbol and by `eval`, for the next program
// property: S12
// expect: value "left"
(globalThis as any).left = 1;
(0, eval)("var leftByEval = 1; let leftLexical = 1; class LeftClass {}");
(globalThis as any)[Symbol.for("left")] = 1;
Object.defineProperty(globalThis, "leftHidden", { value: 1 });
(console as any).left = 1; (Math as any).left = 1; (search as any).left = 1;
return "left";
