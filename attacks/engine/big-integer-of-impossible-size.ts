// attack: shifts and powers to more bits than memory has
// property: S23
// expect: value "held"
const made: string[] = [];
for (const f of [() => 1n << (2n ** 40n), () => 2n ** (2n ** 60n), () => BigInt.asUintN(2 ** 53 - 1, -1n), () => BigInt("9".repeat(3_000_000)) ** 50n]) {
  try { f(); made.push("made"); } catch (e) { if (!(e instanceof RangeError) && e.name !== "InternalError" && !(e instanceof SyntaxError)) made.push(String(e)); }
}
return made.length === 0 ? "held" : made;
