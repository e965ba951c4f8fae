// value: 3
const start = Date.now();
for (let i = 0; i < 3; i++) await tools.test.echo({});
return Date.now() - start;
