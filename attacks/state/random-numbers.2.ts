// attack: compares its random numbers with those of the program before
// property: S12
// expect: value 0
const mine = [Math.random(), Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(16))].join()];
const before = await store.get("random") as unknown[];
return mine.filter((x) => before.includes(x)).length;
