// attack: closes the function that a program is put into, to run outside of it
// property: S06
// expect: error syntax
return 1; }); globalThis.escaped = true; (async function () {
