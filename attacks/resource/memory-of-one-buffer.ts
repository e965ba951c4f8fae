// attack: asks for one buffer larger than any memory, in every type
// property: S23
// expect: value "held"
const made: string[] = [];
for (const bytes of [2 ** 31, 2 ** 32 - 8, 2 ** 40, 2 ** 53 - 1]) {
  for (const type of [ArrayBuffer, Uint8Array, Float64Array, BigInt64Array]) {
    try { new (type as any)(bytes); made.push(`${type.name} ${bytes}`); } catch {}
  }
  try { new ArrayBuffer(8, { maxByteLength: bytes } as any); made.push(`resizable ${bytes}`); } catch {}
}
return made.length === 0 ? "held" : made;
