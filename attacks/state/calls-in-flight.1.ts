// attack: ends while calls are in flight, so that their answers come when the next program runs
// property: S54
// expect: value "left"
for (let i = 0; i < 30; i++) tools.probe.echo({ late: i }).then((r) => console.log("late", r));
void store.get("anything");
return "left";
