// attack: samples every clock over many moments for the smallest step it can show
// property: S20
// timeout_ms: 10000
// expect: value []
const fine: string[] = [];
const samples: number[][] = [[], [], []];
for (let i = 0; i < 300; i++) {
  await new Promise((resolve) => setImmediate(resolve));
  samples[0].push(Date.now());
  samples[1].push(performance.now());
  samples[2].push(budget.elapsedMs);
}
for (const [at, list] of samples.entries()) {
  if (list.some((t) => t % 1 !== 0)) fine.push(`clock ${at} shows ${list.find((t) => t % 1 !== 0)}`);
  if (list.some((t, i) => i > 0 && t < list[i - 1])) fine.push(`clock ${at} runs backwards`);
}
return fine;
