// attack: keeps calls with arguments just under the bound waiting, hundreds of megabytes in all
// property: S35
// timeout_ms: 20000
// expect: error call_limit|output_limit|memory_limit|timeout|exception
const text = "x".repeat(3 << 20);
const calls: Promise<unknown>[] = [];
for (let i = 0; i < 200; i++) calls.push(tools.probe.echo({ i, text }));
await Promise.all(calls);
return "600 MB of arguments waited at once";
