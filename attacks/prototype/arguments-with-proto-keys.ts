// attack: arguments with `__proto__` and `constructor` keys, own and inherited, to change what the gateway validates or sends
// property: S44
// expect: value ["{\"__proto__\":{\"admin\":true},\"constructor\":{\"prototype\":{}}}", "{\"mine\":1}", "invalid_arguments"]
const own = JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":{}}}');
const inherited = Object.create({ admin: true }, { mine: { value: 1, enumerable: true } });
const out: string[] = [(await tools.probe.echo(own)).text, (await tools.probe.echo(inherited)).text];
try { await tools.shop.list_customers(own); out.push("sent"); } catch (e) { out.push(e.code); }
return out;
