// throws: it failed as asked
await tools.test.fail({});
