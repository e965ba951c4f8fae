// attack: a proxy that shows harmless keys first and others when asked again
// property: S44
// expect: value "{\"page\":1}"
let asked = 0;
const two = new Proxy({}, {
  ownKeys: () => { asked += 1; return asked === 1 ? ["page"] : ["page", "forged"]; },
  getOwnPropertyDescriptor: (_, key) => ({ value: key === "page" ? 1 : "forged", enumerable: true, configurable: true }),
  get: (_, key) => (key === "page" ? 1 : key === "forged" ? "forged" : undefined),
});
return (await tools.probe.echo(two)).text;
