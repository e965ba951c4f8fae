// attack: spells a name in another Unicode form, with look-alikes, hidden characters and a NUL, to reach a tool past a check on the name
// property: S41
// tools: ["probe.café"]
// expect: value ["café", "denied", "denied", "denied", "denied", "denied"]
const out: string[] = [];
for (const name of ["caf\u00e9", "cafe\u0301", "c\u0430f\u00e9", "caf\u00e9\u200b", "caf\u00e9\u0000", "\u202ecaf\u00e9"]) {
  try { out.push((await tools.probe[name]({})).reached); } catch (e) { out.push(e.code); }
}
return out;
