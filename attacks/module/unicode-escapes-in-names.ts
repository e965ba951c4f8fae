// attack: writes forbidden words with escapes, so that a search of the source does not see them
// property: S31
// expect: value ["undefined", "undefined", "held"]
const \u0061 = 1;
let got = "held";
try { (0, eval)("\\u0069mport('fs')"); got = "escaped keyword"; } catch {}
return [typeof \u{70}rocess, typeof globalThis["r\u0065quire"], a === 1 ? got : "lost"];
