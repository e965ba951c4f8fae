// attack: is held up by a program that loops beside it
// property: S37
// timeout_ms: 1000
// expect: value 40
let done = 0;
for (let i = 0; i < 40; i++) { await tools.probe.echo({ i }); done += 1; }
return done;
