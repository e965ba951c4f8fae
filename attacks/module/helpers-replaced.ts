// attack: declares the name of the compiler's helper for decorators, so that decorators call the program
// property: S06
// expect: error syntax|exception
const babelHelpers = { decorate: () => { throw new Error("the helper was replaced"); } };
function mark(target: any) { return target; }
@mark class A {}
return typeof A;
