// value: 4950
let sum = 0;
for (let i = 0; i < 100; i++) sum += (await tools.test.echo({ i })).i;
return sum;
