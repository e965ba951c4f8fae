// value: {"name":"ToolError","code":"tool_failed","message":"it failed as asked"}
// stderr: gave up
try {
  await tools.test.fail({});
} catch (error: any) {
  console.error('gave up');
  return { name: error.name, code: error.code, message: error.message };
}
