// value: {"map":{"a":1},"pairs":[[1,2]],"set":[1,2],"date":"1970-01-01T00:00:00.000Z","list":[1,null]}
return await tools.test.echo({
  map: new Map([["a", 1]]), pairs: new Map([[1, 2]]), set: new Set([1, 2]), date: new Date(0), list: [1, undefined],
  gone: undefined, method() {},
});
