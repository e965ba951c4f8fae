// attack: microtasks that make microtasks, so that no timer and no answer is ever delivered
// property: S26
// timeout_ms: 500
// expect: error timeout
setTimeout(() => { throw new Error("a timer was heard"); }, 1);
const spin = () => Promise.resolve().then(spin);
spin();
spin();
await new Promise(() => {});
