// value: [[],[],null,null,null,null]
return [
  await search("anything", { limit: 3 }), await servers(), await describe("test"), await describe("test", "echo"),
  await describe("test.echo"), await describe(tools.test.echo),
];
