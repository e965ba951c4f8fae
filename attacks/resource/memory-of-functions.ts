// attack: compiles new source texts without end
// property: S23
// timeout_ms: 15000
// expect: error memory_limit|timeout
const kept: Function[] = [];
for (let i = 0; ; i++) kept.push(new Function(`return ${Array.from({ length: 300 }, (_, k) => `x${i}_${k}`).join("+")}`));
