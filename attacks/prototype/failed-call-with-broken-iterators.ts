// attack: breaks iteration of arrays, then makes a call fail, so that the error is made by broken code and the end gives a false reason
// property: S38
// expect: value ["unknown_tool", "probe", "nothing", 0]
let trapped = 0;
const broken = function () { trapped += 1; throw new Error("broken"); };
Array.prototype[Symbol.iterator] = broken as any;
Array.prototype.values = broken as any;
Object.getPrototypeOf(Object.getPrototypeOf(function* () {}).prototype).next = broken;
try {
  await tools.probe.nothing({});
  return "no error";
} catch (e) {
  const out = new Array(4);
  out[0] = e.code; out[1] = e.server; out[2] = e.tool; out[3] = trapped;
  return out;
}
