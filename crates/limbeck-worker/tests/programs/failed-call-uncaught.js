// throws: it failed as asked
const result = await tools.test.fail({});
return result;
