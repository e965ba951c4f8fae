// attack: takes the answers of calls that the program before made, by using the same numbers
// property: S54
// expect: value [30, 0]
let mine = 0;
let foreign = 0;
await Promise.all(Array.from({ length: 30 }, async (_, i) => {
  const { text } = await tools.probe.echo({ mine: i });
  text === `{"mine":${i}}` ? mine += 1 : foreign += 1;
}));
return [mine, foreign];
