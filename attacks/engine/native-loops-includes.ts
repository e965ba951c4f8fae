// attack: `includes` and `lastIndexOf` on sparse arrays of the greatest length
// property: S21
// timeout_ms: 600
// expect: error timeout
const sparse: unknown[] = [];
sparse.length = 2 ** 32 - 1;
for (;;) { sparse.includes(1); sparse.lastIndexOf(1); sparse.findLast((x) => x === 1); }
