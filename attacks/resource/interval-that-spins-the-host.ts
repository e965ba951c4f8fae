// attack: timers of no delay without end, so that gateway and worker send frames to each other as fast as they can
// property: S26
// timeout_ms: 700
// expect: error timeout
for (let i = 0; i < 50; i++) {
  const spin = () => setImmediate(spin);
  spin();
}
await new Promise(() => {});
