// control: a call that leaves is counted by the server, so a call that must not leave would be seen
// property: S40
// expect: value [0, 1, 2]
const mark = crypto.randomUUID();
const noted = async () => (await tools.probe.noted({ mark })).times;
const before = await noted();
await tools.probe.note({ mark });
const once = await noted();
await tools.probe.note({ mark });
return [before, once, await noted()];
