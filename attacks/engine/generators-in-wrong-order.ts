// attack: resumes generators and async generators from inside themselves, returns into `finally` and drops them in the middle
// property: S16
// expect: value "held"
function* g(): any { try { yield it.next(); } catch { yield it.return(1); } finally { yield 2; try { it.throw(3); } catch {} } }
const it: any = g();
for (let i = 0; i < 5; i++) { try { it.next(); it.return(i); it.throw(i); } catch {} }
async function* ag(): any { try { yield 1; yield ait.next(); } finally { await null; yield 2; } }
const ait: any = ag();
void Promise.allSettled([ait.next(), ait.return(1), ait.throw(2), ait.next(), ait.return({ then(r: any) { r(ait.next()); } })]);
await new Promise((resolve) => setTimeout(resolve, 5));
const delegating = (function* (): any { yield* { [Symbol.iterator]: () => ({ next: () => ({ get done() { delegating.next?.(); return true; } }) }) } as any; })();
try { delegating.next(); } catch {}
return "held";
