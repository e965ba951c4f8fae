// attack: draws random numbers and keeps them in the store, to predict those of the next program
// property: S12
// expect: value "left"
await store.set("random", [Math.random(), Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(16))].join()]);
return "left";
