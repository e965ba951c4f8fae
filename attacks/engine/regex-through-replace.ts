// attack: an endless search in native `replace`, `split` and `matchAll`, with an index that is set back
// property: S21
// timeout_ms: 800
// expect: error timeout|memory_limit
const r = /a|/g;
r.exec = function () { this.lastIndex = 0; return Object.assign(["a"], { index: 0, input: "a" }) as any; };
"a".replace(r, "b");
