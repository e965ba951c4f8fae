// attack: a thousand calls at once, some failing and some refused, to be given an answer that belongs to another
// property: S54
// timeout_ms: 10000
// expect: value [1000, 0]
let right = 0;
let wrong = 0;
await Promise.all(Array.from({ length: 1000 }, async (_, i) => {
  try {
    if (i % 3 === 0) {
      const { text } = await tools.probe.echo({ i });
      text === `{"i":${i}}` ? right += 1 : wrong += 1;
    } else if (i % 3 === 1) {
      await tools.probe.fail({ message: `m${i}` });
      wrong += 1;
    } else {
      await tools.probe[`none${i}`]({});
      wrong += 1;
    }
  } catch (e) {
    e.message.includes(i % 3 === 1 ? `m${i}` : `none${i}`) ? right += 1 : wrong += 1;
  }
}));
return [right, wrong];
