// attack: looks for answers, timers and printed text of the Python program before
// property: S12
// expect: value ["{\"mine\":1}", null]
await new Promise((resolve) => setTimeout(resolve, 60));
return [(await tools.probe.echo({ mine: 1 })).text, (globalThis as any).polluted];
