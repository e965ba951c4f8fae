// value: ["RangeError","RangeError"]
const nameOf = (attempt) => { try { attempt(); } catch (error) { return error.name; } };
let nested = [];
for (let i = 0; i < 100000; i++) nested = [nested];
return [nameOf(() => JSON.parse("[".repeat(1000000))), nameOf(() => JSON.stringify(nested))];
