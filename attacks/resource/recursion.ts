// attack: recursion without end, caught at every level
// property: S24
// timeout_ms: 3000
// expect: error stack_limit|timeout
const deeper = (): number => { try { return deeper() + 1; } catch (e) { return deeper() + 1; } };
deeper();
