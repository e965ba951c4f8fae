// value: [{"status":"fulfilled","value":{"a":1}},{"status":"rejected","reason":{"name":"ToolError","message":"it failed as asked","code":"tool_failed","server":"test","tool":"fail","retryable":false}}]
return await Promise.allSettled([tools.test.echo({ a: 1 }), tools.test.fail({})]);
