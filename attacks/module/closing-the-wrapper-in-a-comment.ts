// attack: ends the wrapper behind a comment, a template and an expression that looks complete
// property: S06
// expect: error syntax
/* */ })()); globalThis.escaped = true; /*
