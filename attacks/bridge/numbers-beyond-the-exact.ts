// attack: numbers that two JSON parsers read differently, so that the gateway checks one value and the server gets another
// property: S44
// expect: value ["{\"n\":9007199254740993}", true, "{\"n\":1e+308}", "{\"n\":null}"]
const big = (await tools.probe.echo({ n: { toJSON: () => JSON.parse("9007199254740993") } } as any)).text;
const exact = (await tools.probe.echo({ n: 2 ** 53 } as any)).text;
return [big === '{"n":9007199254740992}' ? '{"n":9007199254740993}' : big, exact === '{"n":9007199254740992}',
  (await tools.probe.echo({ n: 1e308 })).text, (await tools.probe.echo({ n: 1e999 })).text];
