// attack: does ordinary work beside a Python program that computes without end
// property: S37
// timeout_ms: 5000
// expect: value [100, true]
const started = Date.now();
let right = 0;
for (let i = 0; i < 100; i++) {
  const { text } = await tools.probe.echo({ i });
  if (text === `{"i":${i}}`) right += 1;
}
return [right, Date.now() - started < 4_000];
