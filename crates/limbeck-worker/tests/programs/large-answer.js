// value: 12500
const items = Array.from({ length: 50000 }, (_, id) => ({ id, active: id % 4 === 0 }));
const answer = await tools.test.echo({ items });
return answer.items.filter((item) => item.active).length;
