// attack: a `with` statement around the globals
// property: S06
// expect: error syntax
with (globalThis) { return tools; }
