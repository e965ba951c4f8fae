// attack: makes calls from `toJSON` of another call's arguments, to mix up ids, encodings and answers
// property: S54
// expect: value ["{\"outer\":\"tag\"}", ["{\"inner\":0}", "{\"inner\":1}", "{\"inner\":2}"], "{\"first\":0,\"m\":{\"k\":1}}"]
const inner: Promise<any>[] = [];
const outer = await tools.probe.echo({
  outer: { toJSON() { for (let i = 0; i < 3; i++) inner.push(tools.probe.echo({ inner: i })); return "tag"; } },
} as any);
const texts = (await Promise.all(inner)).map((r) => r.text);
const nested = await tools.probe.echo({ first: { toJSON() { void tools.probe.echo({}); return 0; } }, m: new Map([["k", 1]]) } as any);
return [outer.text, texts, nested.text];
