// attack: waits for timers of the program before
// property: S12
// expect: value [1, "quiet"]
const first = setTimeout(() => 0, 1);
await new Promise((resolve) => setTimeout(resolve, 120));
return [first, "quiet"];
