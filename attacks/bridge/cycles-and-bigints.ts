// attack: arguments and options with cycles, BigInts and a key that names a place which is not there
// property: S28
// expect: value ["TypeError", "TypeError", "TypeError", "TypeError"]
const cycle: any = { list: [{}] };
cycle.list[0].up = cycle;
const names: string[] = [];
for (const f of [
  () => tools.probe.echo(cycle),
  () => tools.probe.echo({ big: 2n ** 70n } as any),
  () => store.set("cycle", cycle),
  () => search("x", cycle),
]) {
  try { await (f as any)(); names.push("sent"); } catch (e) { names.push(e.name); }
}
return names;
