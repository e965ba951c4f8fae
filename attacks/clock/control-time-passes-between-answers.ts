// control: time does pass while the program waits, so a clock that does not move was not merely slow
// property: S20
// expect: value [true, true, true]
const [date, now] = [Date.now(), performance.now()];
await new Promise((resolve) => setTimeout(resolve, 30));
return [Date.now() - date >= 29, performance.now() - now >= 29, Date.now() - date < 2_000];
