// attack: ends while calls are in flight, so that their answers come when the next program runs
// property: S54
// expect: value "left"
const calls: Promise<any>[] = [store.get("anything")];
for (let i = 0; i < 30; i++) calls.push(tools.probe.echo({ late: i }));
for (const call of calls) call.then((r) => console.log("late", r));
// A program does not end before its calls are answered, unless they lost a race.
await Promise.race([...calls, 0]);
return "left";
