// value: true
async function inner() {
  await tools.test.echo({});
  return await tools.test.fail({});
}
try {
  await inner();
} catch (error) {
  return /at inner \(program:\d+:\d+\)/.test(error.stack) && !error.stack.includes("limbeck");
}
