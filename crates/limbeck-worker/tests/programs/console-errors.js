// stdout: [TypeError: bad] { code: 'E', cause: 'why' }
// stdout: [ [Error: inside] ]
// stdout: [Function: f] { extra: 1 } [Function: tools.test.echo]
const bare = (error, more) => Object.assign(error, { stack: "" }, more);
console.log(bare(new TypeError("bad", { cause: "why" }), { code: "E" }));
console.log([bare(new Error("inside"))]);
function f() {}
f.extra = 1;
console.log(f, tools.test.echo);
