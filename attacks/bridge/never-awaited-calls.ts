// attack: leaves calls that write behind when it returns, to have effects after its end and answers in the next execution
// property: S33
// expect: value "left"
for (let i = 0; i < 50; i++) void tools.probe.note({ mark: "abandoned" });
return "left";
