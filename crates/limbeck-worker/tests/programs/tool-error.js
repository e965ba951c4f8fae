// value: {"name":"ToolError","message":"it failed as asked","code":"tool_failed","server":"test","tool":"fail","retryable":false,"isError":true,"isToolError":true}
try {
  await tools.test.fail({});
} catch (error) {
  const { name, message, code, server, tool, retryable } = error;
  return {
    name, message, code, server, tool, retryable, isError: error instanceof Error,
    isToolError: error instanceof ToolError,
  };
}
