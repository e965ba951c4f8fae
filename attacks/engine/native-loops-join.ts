// attack: joins, flattens and copies lists of huge lengths
// property: S21
// timeout_ms: 800
// expect: error timeout|memory_limit|exception
const sparse: unknown[] = [];
sparse.length = 2 ** 32 - 1;
for (const f of [() => sparse.toSorted(), () => sparse.toSpliced(0, 1, 1), () => sparse.with(0, 1), () => Array.from({ length: 2 ** 32 })]) {
  try { f(); } catch (e) { if (!(e instanceof RangeError) && e.name !== "InternalError") throw e; }
}
sparse.join("");
