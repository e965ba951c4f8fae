// value: {"date":"1970-01-01T00:00:00.000Z","map":{"a":{"b":[1]}},"pairs":[[1,"x"]],"set":["x"],"nan":null,"holes":[null,null],"custom":"mine","error":{"name":"RangeError","message":"far"},"url":"http://host/","lone":"�"}
return {
  date: new Date(0), map: new Map([["a", new Map([["b", new Set([1])]])]]), pairs: new Map([[1, "x"]]), set: new Set(["x"]),
  nan: NaN, holes: [, undefined], gone: undefined, method() {}, symbol: Symbol("s"), custom: { toJSON: () => "mine" },
  error: new RangeError("far"), url: new URL("http://host"), lone: "\ud800",
};
