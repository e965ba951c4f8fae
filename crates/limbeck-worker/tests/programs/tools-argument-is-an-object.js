// stdout: TypeError: tools.test.echo takes one object argument, such as { name: value }; got a string
// stdout: TypeError: tools.test.echo takes one object argument, such as { name: value }; got an array
// stdout: TypeError: tools.test.echo takes one object argument, such as { name: value }; got null
// stdout: TypeError: tools.test.echo takes one object argument, such as { name: value }; got 2 arguments
// stdout: TypeError: tools.test["e-cho"].raw takes one object argument, such as { name: value }; got a number
const attempts = [
  () => tools.test.echo("x"), () => tools.test.echo([1]), () => tools.test.echo(null), () => tools.test.echo({}, {}),
  () => tools.test["e-cho"].raw(1),
];
for (const attempt of attempts) await attempt().catch((error) => console.log(String(error)));
