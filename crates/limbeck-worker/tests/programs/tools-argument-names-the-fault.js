// stdout: tools.test.echo: argument.items[1].id is a BigInt; convert it with String() or Number()
// stdout: tools.test.echo: argument.a.b refers back to argument; JSON cannot hold a cycle
const say = (error) => console.log(error.message);
await tools.test.echo({ items: [{ id: 1 }, { id: 2n }] }).catch(say);
const cycle = { a: {} };
cycle.a.b = cycle;
await tools.test.echo(cycle).catch(say);
