// attack: arguments nested deeper than the gateway may follow, up to depths that end a recursive parser
// property: S24
// expect: value ["invalid_arguments", "invalid_arguments", "RangeError"]
const nested = (depth: number) => { let v: unknown = 1; for (let i = 0; i < depth; i++) v = [v]; return v; };
const ends: string[] = [];
for (const depth of [200, 2_000, 1_000_000]) {
  try { await tools.probe.echo({ v: nested(depth) }); ends.push("sent"); } catch (e) { ends.push(e.code ?? e.name); }
}
return ends;
