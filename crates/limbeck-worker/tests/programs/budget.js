// value: {"elapsed":1,"remaining":9999,"calls":1,"left":9999}
const before = budget.elapsedMs;
await tools.test.echo({});
return {
  elapsed: budget.elapsedMs - before, remaining: budget.remainingMs, calls: budget.calls, left: budget.callsRemaining,
};
