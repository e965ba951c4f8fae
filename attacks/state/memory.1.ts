// attack: fills memory with a mark that the next program may find in what it allocates
// property: S12
// expect: value "left"
const kept: unknown[] = [];
for (let i = 0; i < 20; i++) kept.push(new Uint8Array(1 << 20).fill(0xa5), `left behind ${i} `.repeat(50_000));
(globalThis as any).kept = kept;
return "left";
