// attack: looks for groups, counters and clocks of the program before
// property: S12
// stdout: left: 1
// expect: value "looked"
console.count("left");
console.timeEnd("left");
return "looked";
