// value: [1,{"x":2}]
return Promise.all([Promise.resolve(1), tools.test.echo({ x: 2 })]);
