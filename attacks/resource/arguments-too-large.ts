// attack: sends arguments above the bound of one call
// property: S28
// timeout_ms: 10000
// expect: error output_limit
await tools.probe.echo({ text: "x".repeat(5 << 20) });
