// value: {"x":1}
return await tools.test.echo({ x: 1 });
