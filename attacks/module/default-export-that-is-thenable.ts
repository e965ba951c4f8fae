// attack: a default export that is a thenable and a function at once, called by the code around the program
// property: S06
// expect: value {"called": 1, "args": 1}
let called = 0;
function program(...args: unknown[]) { called += 1; return { called, args: args.length }; }
export default program;
