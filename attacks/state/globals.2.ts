// attack: looks for globals that the program before left
// property: S12
// expect: value []
const found: string[] = [];
for (const name of ["left", "leftByEval", "leftHidden"]) if (name in globalThis) found.push(name);
for (const name of ["leftByEval", "leftLexical", "LeftClass"]) { if ((0, eval)(`typeof ${name}`) !== "undefined") found.push(name); }
if (Symbol.for("left") in globalThis) found.push("symbol");
for (const o of [console, Math, search] as any[]) if (o.left !== undefined) found.push("member");
return found;
