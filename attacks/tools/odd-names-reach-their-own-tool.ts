// attack: tools whose names are `__proto__` and a piece of code, to be looked up wrongly or run on the way
// property: S41
// expect: value ["__proto__", "hasOwnProperty", "a\"]; throw 1; //", "__proto__", "then"]
return [
  (await tools.probe["__proto__"]({}) as any).reached,
  (await tools.probe["hasOwnProperty"]({}) as any).reached,
  (await tools.probe['a"]; throw 1; //']({}) as any).reached,
  (await callMCPTool("probe", "__proto__", {}).then(() => "__proto__")),
  (await callMCPTool("mcp__probe__then", {}).then(() => "then")),
];
