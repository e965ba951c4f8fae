// value: {}
return await tools.test.echo();
