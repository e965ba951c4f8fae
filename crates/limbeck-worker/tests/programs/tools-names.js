// value: {"keys":["test"],"has":true,"lacks":false,"then":"undefined","symbol":"undefined","json":"{\"test\":{}}"}
return {
  keys: Object.keys(tools), has: "test" in tools, lacks: "absent" in tools, then: typeof tools.then,
  symbol: typeof tools[Symbol.iterator], json: JSON.stringify(tools),
};
