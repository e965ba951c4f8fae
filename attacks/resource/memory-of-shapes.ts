// attack: makes objects that all have other property names, so that every one has a shape of its own
// property: S23
// timeout_ms: 15000
// expect: error memory_limit|timeout
const kept: object[] = [];
for (let i = 0; ; i++) {
  const o: Record<string, number> = {};
  for (let k = 0; k < 50; k++) o[`key ${i} ${k}`] = k;
  kept.push(o);
}
