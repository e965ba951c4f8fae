// value: 1
// stderr: unhandled rejection: Error: not looked at
// stderr: unhandled rejection: ToolError: it failed as asked
Promise.reject(new Error("not looked at"));
const later = Promise.reject(new Error("looked at later"));
tools.test.fail({});
await tools.test.echo({});
await later.catch(() => {});
return 1;
