// attack: compiles a regular expression whose repetition would unfold to more than any memory holds
// property: S23
// timeout_ms: 20000
// expect: value "compiled: false"
let source = "a";
for (let i = 0; i < 12; i++) source = `(?:${source}){1000}`;
const found = new RegExp(source).test("a".repeat(1000));
return `compiled: ${found}`;
