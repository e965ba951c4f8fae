// value: {"ask":"HI","think":"B","bare":"B","value":4,"pieces":["HI"],"awaited":["HI"],"map":["Q\n\nA","Q\n\n{\"N\":1}"],"made":["n0","n1","n2"],"left":{"rounds":3,"tokens":70}}
const messages = [{ role: 'user', content: 'a' }, { role: 'user', content: 'b' }];
const pieces = [];
for await (const piece of llm.ask('hi', { stream: true })) pieces.push(piece);
const awaited = [];
for await (const piece of await llm.think({ messages: [{ role: 'user', content: 'hi' }], stream: true })) awaited.push(piece);
return {
  ask: await llm.ask('hi', { systemPrompt: 'Be terse', maxTokens: 5 }),
  think: await llm.think({ messages, model: 'm' }),
  bare: await llm.think(messages),
  value: await llm.ask('four', { schema: { type: 'integer' } }),
  pieces,
  awaited,
  map: await llm.map(['a', { n: 1 }], 'Q'),
  made: (await llm.map([0, 1, 2], (item, index) => `n${item}${index}`, { concurrency: 2 })).map((text) => text.slice(0, 2).toLowerCase()),
  left: budget.llm,
};
