// attack: a result nested deeper than a recursive parser can follow, structured and as text that a program parses
// property: S28
// expect: value ["upstream_error", "upstream_error", "string"]
const deep = (n: number) => "[".repeat(n) + "]".repeat(n);
const ends: string[] = [];
for (const n of [200, 100_000]) {
  try { ends.push(typeof (await tools.probe.say({ result: `{"content":[],"structuredContent":{"a":${deep(n)}}}` }))); } catch (e) { ends.push(e.code); }
}
const text = await tools.probe.say({ result: `{"content":[{"type":"text","text":"${deep(1000)}"}]}` });
ends.push(typeof text);
return ends;
