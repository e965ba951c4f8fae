// value: [0,1,4,9,16]
const results = await Promise.all([0, 1, 2, 3, 4].map((n) => tools.test.echo({ n: n * n })));
return results.map((result) => result.n);
