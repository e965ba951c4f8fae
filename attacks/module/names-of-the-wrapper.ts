// attack: declares and reads the names that the compiler puts around a program
// property: S06
// expect: value ["undefined", "undefined", "undefined", 0]
const __limbeck_default = 1;
const value = 2;
const seen = [typeof babelHelpers, typeof (globalThis as any).__limbeck_default, typeof (globalThis as any).value];
return [...seen, arguments.length];
