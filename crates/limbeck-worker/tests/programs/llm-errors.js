// value: ["unsupported no model can be asked","TypeError","TypeError","TypeError","unsupported no model can be asked"]
const said = async (work) => {
  try {
    return await work();
  } catch (error) {
    return error instanceof ToolError ? `${error.code} ${error.message}` : error.name;
  }
};
await llm.ask('hi', { temperature: 0 });
return [
  await said(() => llm.ask('off')),
  await said(() => llm.ask(7)),
  await said(() => llm.think('x')),
  await said(() => llm.ask('x', 'be terse')),
  await said(() => llm.map(['x', 'off'], (item) => item, { concurrency: 1 })),
];
