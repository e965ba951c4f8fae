// value: {"field":1,"parsed":1,"keys":["a"],"text":"plain","number":"7","empty":{"content":[{"type":"text","text":""}]},"first":"one"}
const call = (...texts) => callMCPTool("echo", { content: texts.map((text) => ({ type: "text", text })) });
const result = await call('{"a":1}');
return {
  field: result.a, parsed: JSON.parse(result).a, keys: Object.keys(result), text: await call("plain"),
  number: await call("7"), empty: await call(""), first: await call("one", "two"),
};
