// attack: counts how often it is woken between two milliseconds by timers of no delay, to have a finer clock
// property: S20
// expect: value "held"
const counts: number[] = [];
let wakes = 0;
let last = Date.now();
for (const end = last + 200; last < end;) {
  await new Promise((resolve) => setImmediate(resolve));
  wakes += 1;
  const now = Date.now();
  if (now === last) continue;
  counts.push(wakes / (now - last));
  wakes = 0;
  last = now;
}
const most = Math.max(...counts);
return most <= 12 ? "held" : `woken ${most} times in a millisecond`;
