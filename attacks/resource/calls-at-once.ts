// attack: starts more calls than may wait, without awaiting any
// property: S27
// timeout_ms: 10000
// expect: error call_limit
for (let i = 0; i < 20_000; i++) void tools.probe.echo({ i });
await new Promise(() => {});
