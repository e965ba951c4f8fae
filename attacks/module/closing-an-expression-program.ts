// attack: a program that begins as an object, which is put in brackets, and closes them
// property: S06
// expect: error syntax
{ a: 1 }); globalThis.escaped = true; ({ b: 2 }
