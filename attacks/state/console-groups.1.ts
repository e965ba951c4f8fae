// attack: leaves open groups, counters and clocks of the console
// property: S12
// expect: value "left"
console.group("left"); console.group("left"); console.count("left"); console.time("left");
return "left";
