// attack: replaces `JSON.stringify` and `JSON.parse`, so that arguments leave and results arrive as the program likes, past the schema
// property: S44
// expect: value ["{\"honest\":1}", 0]
let trapped = 0;
JSON.stringify = ((..._: unknown[]) => { trapped += 1; return '{"forged":1}'; }) as any;
JSON.parse = (() => { trapped += 1; return { forged: 1 }; }) as any;
const echoed = await tools.probe.echo({ honest: 1 });
return [echoed.text, trapped];
